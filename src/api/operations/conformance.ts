import { z } from "zod";
import { examine, operationReport } from "../../service/conformance.ts";
import type { OperationReport } from "../../service/conformance.ts";
import { RefusedError } from "../../lib/refusal.ts";
import { chooseTarget, targetChoice } from "../choose-target.ts";
import type { ServiceContext } from "../context.ts";
import { defineOperation } from "../operation.ts";
import { serviceId } from "./lookups.ts";

const id = serviceId("an id of 1 to 1000 characters, other than . and ..").optional();

const conformanceView = z.object({
  region: z.string(),
  /** Null where the key is not a configured one. */
  key: z.string().nullable(),
  operations: z.array(operationReport).readonly(),
  /** How many fields, and responses as a whole, conform, and so on. */
  agrees: z.number(),
  outside: z.number(),
  not_seen: z.number(),
  /** How many operations gave no response. */
  failed: z.number(),
});
export type ConformanceView = z.output<typeof conformanceView>;

/** How long a call waits for a token of the key's limit. */
const longestWaitMs = 10_000;

export const checkConformance = defineOperation({
  name: "checkConformance",
  method: "POST",
  path: "/conformance",
  summary:
    "Calls every operation of the service once and compares the responses with its interface",
  request: z.strictObject({ user: id, universe: id, client: id, ...targetChoice.shape }),
  response: conformanceView,
  refusals: [409, 429],
  callsService: true,
  // Each call may wait for the key's limit, and then for the service.
  timeoutMs: 10 * 60_000,
  async handle(context: ServiceContext, { region, key, ...ids }) {
    const { service, limits, clock, signal, maxBodyBytes, inProgress } = context;
    const { target, apiKey } = chooseTarget(context, { region, key });
    // Responses are held in memory as a whole.
    if (inProgress.checks > 0) {
      throw new RefusedError("conflict", "A check is under way already. Wait for it.");
    }
    inProgress.checks += 1;
    try {
      const operations = await examine(async (lookup) => {
        const deadlineMs = clock.now().monotonicMs + longestWaitMs;
        const admission = await limits.admit(target, deadlineMs, signal);
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
      return { ...target, operations, ...countVerdicts(operations) };
    } finally {
      inProgress.checks -= 1;
    }
  },
});

function countVerdicts(operations: readonly OperationReport[]) {
  const fields = operations.flatMap((each) => each.fields);
  const count = (wanted: "agrees" | "outside" | "not_seen"): number =>
    fields.filter(({ verdict }) => verdict === wanted).length;
  const ended = (wanted: OperationReport["outcome"]): number =>
    operations.filter(({ outcome }) => outcome === wanted).length;
  return {
    agrees: count("agrees"),
    outside: count("outside") + ended("outside"),
    not_seen: count("not_seen") + ended("not_seen"),
    failed: ended("failed"),
  };
}
