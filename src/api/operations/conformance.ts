import { z } from "zod";
import { RefusedError } from "../../lib/refused-error.ts";
import { examine, operationReport, type OperationReport } from "../../service/conformance.ts";
import type { Needs } from "../context.ts";
import { listed, nullableText } from "../fields.ts";
import { defineAction } from "../operation.ts";
import { callWithToken, chooseTarget, serviceId, targetChoice } from "../service-call.ts";

const conformanceView = z.object({
  region: z.string(),
  key: nullableText.describe("Null: the key is not a configured one"),
  operations: listed(operationReport),
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

export const checkConformance = defineAction({
  name: "checkConformance",
  permission: "call",
  path: "/conformance",
  summary:
    "Calls every operation of the service once and compares the responses with its interface",
  request: z.strictObject({
    user: serviceId,
    universe: serviceId,
    client: serviceId,
    ...targetChoice,
  }),
  response: conformanceView,
  refusals: [409, 429],
  // Each call may wait for the key's limit, and then for the service.
  timeoutMs: 10 * 60_000,
  async handle({ calls }: Needs<"calls">, { region, key, ...ids }) {
    const { service, inProgress } = calls;
    const chosen = chooseTarget(calls, { region, key });
    // Responses are held in memory as a whole.
    if (inProgress.checks > 0) {
      throw new RefusedError(
        "conflict",
        "A check is already in progress. Wait until it has ended.",
      );
    }
    inProgress.checks += 1;
    try {
      const operations = await examine(async (lookup) => {
        const result = await callWithToken(calls, chosen, lookup.operation, longestWaitMs, (call) =>
          service.examine(call, lookup),
        );
        if (result.kind === "ok" || result.kind === "failed") return result;
        const detail = "nothing was sent: the key's rate limit is used up, try again later";
        return { kind: "not_sent", detail };
      }, ids);
      return { ...chosen.target, operations, ...countVerdicts(operations) };
    } finally {
      inProgress.checks -= 1;
    }
  },
});

function countVerdicts(operations: readonly OperationReport[]) {
  const verdicts = operations.flatMap(({ outcome, fields }) => [
    outcome,
    ...fields.map(({ verdict }) => verdict),
  ]);
  const count = (wanted: (typeof verdicts)[number]) =>
    verdicts.filter((verdict) => verdict === wanted).length;
  return {
    agrees: count("agrees"),
    outside: count("outside"),
    not_seen: count("not_seen"),
    failed: count("failed"),
  };
}
