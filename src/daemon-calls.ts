import type { Config } from "./config/config.ts";
import { configuredTargets } from "./config/configured-targets.ts";
import { createConformanceDesk } from "./conformance/conformance-desk.ts";
import type { ConformanceDesk } from "./conformance/conformance-desk.ts";
import type { ConformanceDeps } from "./conformance/check-conformance.ts";
import { createLookups } from "./lookups/lookups.ts";
import type { LookupDeps, Lookups } from "./lookups/lookups.ts";

/** A larger answer would hold up everything else while it is read and masked, or compared. */
const maxBodyBytes = 8 * 2 ** 20;

type Deps = ConformanceDeps & Required<LookupDeps>;

interface DaemonCallsParts extends Pick<
  Deps,
  "service" | "limits" | "budget" | "clock" | "pollIntervalMs"
> {
  readonly config: Config;
}

/** What the service is called for because people ask. */
export interface DaemonCalls {
  readonly lookups: Lookups;
  readonly conformance: ConformanceDesk;
  /** Ends those under way. */
  close(): void;
}

export function createDaemonCalls({ config, ...parts }: DaemonCallsParts): DaemonCalls {
  const closing = new AbortController();
  const { signal } = closing;
  const deps = { ...parts, targets: configuredTargets(config), keys: config.keys };
  return {
    lookups: createLookups({ ...deps, maxBodyBytes, signal }),
    conformance: createConformanceDesk({ ...deps, maxBodyBytes, signal }),
    close: () => closing.abort(),
  };
}
