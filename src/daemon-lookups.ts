import type { Config } from "./config/config.ts";
import { configuredTargets } from "./config/configured-targets.ts";
import { createLookups } from "./lookups/lookups.ts";
import type { LookupDeps, Lookups } from "./lookups/lookups.ts";

/** A larger answer would hold up everything else while it is read and masked. */
const maxBodyBytes = 8 * 2 ** 20;

interface DaemonLookupsParts extends Pick<
  Required<LookupDeps>,
  "service" | "limits" | "budget" | "clock" | "pollIntervalMs"
> {
  readonly config: Config;
}

export interface DaemonLookups extends Lookups {
  /** Ends those under way. */
  close(): void;
}

export function createDaemonLookups({ config, ...parts }: DaemonLookupsParts): DaemonLookups {
  const closing = new AbortController();
  const lookups = createLookups({
    ...parts,
    targets: configuredTargets(config),
    keys: config.keys,
    maxBodyBytes,
    signal: closing.signal,
  });
  return { ...lookups, close: () => closing.abort() };
}
