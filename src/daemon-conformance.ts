import type { Config } from "./config/config.ts";
import { configuredTargets } from "./config/configured-targets.ts";
import type { ConformanceDeps } from "./conformance/check-conformance.ts";
import { createConformanceDesk } from "./conformance/conformance-desk.ts";
import type { ConformanceDesk } from "./conformance/conformance-desk.ts";

/** A larger answer would hold up everything else while it is read. */
const maxBodyBytes = 8 * 2 ** 20;

export interface DaemonConformance {
  readonly desk: ConformanceDesk;
  /** Ends a check that is under way. */
  close(): void;
}

export function createDaemonConformance({
  config,
  ...parts
}: Pick<ConformanceDeps, "service" | "limits" | "clock"> & {
  readonly config: Config;
}): DaemonConformance {
  const closing = new AbortController();
  const { signal } = closing;
  const targets = configuredTargets(config);
  const desk = createConformanceDesk({
    ...parts,
    targets,
    keys: config.keys,
    maxBodyBytes,
    signal,
  });
  return { desk, close: () => closing.abort() };
}
