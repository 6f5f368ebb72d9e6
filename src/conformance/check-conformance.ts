import type { Target } from "../core/model.ts";
import type { Clock } from "../platform/clock.ts";
import type { Secret } from "../platform/secret.ts";
import type { KeyLimits } from "../polling/key-limits.ts";
import type { ServiceClient } from "../service/client.ts";
import { examine, type Ids } from "./examine.ts";
import type { ConformanceView, OperationView } from "./views.ts";

export interface ConformanceDeps {
  readonly service: Pick<ServiceClient, "examine">;
  readonly limits: KeyLimits;
  readonly clock: Clock;
  /** What one answer may hold. */
  readonly maxBodyBytes: number;
  readonly signal: AbortSignal;
}

/** How long a call waits for the key's limit. */
const patienceMs = 10_000;

/** Asks the service with a key in a region, within the key's limit. */
export async function checkConformance(
  deps: ConformanceDeps,
  target: Target,
  apiKey: Secret,
  ids: Ids,
): Promise<Omit<ConformanceView, "key">> {
  const { service, limits, clock, signal, maxBodyBytes } = deps;
  const found = await examine(async (lookup) => {
    const admission = await limits.admit(target, clock.now().monotonicMs + patienceMs, signal);
    if (admission.kind !== "granted") {
      const detail = "nothing was sent: the key's limit leaves no room, try again later";
      return { kind: "not_sent", detail };
    }
    const { sent: onSent, ended } = admission;
    const call = { region: target.region, apiKey, signal, maxBodyBytes, onSent };
    const result = await service.examine(call, lookup).finally(ended);
    if (result.kind === "failed" && result.retryAfterMs !== null) {
      limits.pause(target, clock.now().monotonicMs + result.retryAfterMs);
    }
    return result;
  }, ids);
  return { region: target.region, operations: found, ...countVerdicts(found) };
}

function countVerdicts(found: readonly OperationView[]) {
  const fields = found.flatMap((each) => each.fields);
  const count = (wanted: "agrees" | "outside" | "not_seen"): number =>
    fields.filter(({ verdict }) => verdict === wanted).length;
  const ended = (wanted: OperationView["outcome"]): number =>
    found.filter(({ outcome }) => outcome === wanted).length;
  return {
    agrees: count("agrees"),
    outside: count("outside") + ended("outside"),
    not_seen: count("not_seen") + ended("not_seen"),
    failed: ended("failed"),
  };
}
