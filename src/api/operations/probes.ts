import { z } from "zod";
import { probeState, probeStates, type ProbeResult, type ProbeView } from "../../alerts/probe.ts";
import { batches, paced } from "../../lib/iterables.ts";
import type { FleetContext, Needs } from "../context.ts";
import { limitOf, listed, names, notes, nullableText, nullableTime } from "../fields.ts";
import { targetLabels, time } from "../fields.ts";
import { matchNotes } from "../match-notes.ts";
import { defineQuery } from "../operation.ts";
import { toView } from "../view-fields.ts";

const resultView = z.object({
  at: time,
  success: z.boolean(),
  reason: nullableText,
  detail: nullableText,
  duration_seconds: z.number().nullable().describe("Null: no request was sent"),
});

const probeView = z.object({
  probe: z.string(),
  ...targetLabels,
  operation: z.string(),
  state: z.enum(probeStates),
  failures_in_a_row: z.number(),
  last_success_at: nullableTime,
  results: listed(resultView).describe("Latest first"),
});
type ProbeStateView = z.output<typeof probeView>;

const probesAtOnce = 50;

export const listProbes = defineQuery({
  name: "listProbes",
  path: "/probes",
  summary: "The state of each probe, with its last results, latest first",
  request: z.strictObject({
    probe: names,
    limit: limitOf(10).describe("Of results of each probe"),
  }),
  response: z.object({ probes: listed(probeView), notes }),
  async handle(context: FleetContext & Needs<"store">, { probe, limit }) {
    const wanted = context.probes.filter(
      ({ subject }) => probe.length === 0 || probe.includes(subject.probe),
    );
    const probes: ProbeStateView[] = [];
    for await (const some of paced(batches(wanted, probesAtOnce))) {
      for (const each of some) {
        probes.push(viewProbe(each, await context.store.probes.results(each.id, limit)));
      }
    }
    return { probes, notes: matchNotes(context, { probe }) };
  },
});

function viewProbe(
  { subject: { probe, region, key }, operation, progress }: ProbeView,
  results: readonly ProbeResult[],
): ProbeStateView {
  const { failuresInARow, lastSuccessAtMs } = progress;
  return {
    ...toView({ probe, region, key, operation, state: probeState(progress) }),
    ...toView({ failuresInARow, lastSuccessAtMs }),
    results: results.map(({ atMs, reason, detail, durationMs }) =>
      toView({ atMs, success: reason === null, reason, detail, durationMs }),
    ),
  };
}
