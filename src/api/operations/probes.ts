import { z } from "zod";
import { probeState, probeStates } from "../../alerts/probe.ts";
import type { ProbeResult } from "../../alerts/probe.ts";
import type { ProbeView } from "../../alerts/probe.ts";
import { batches, paced } from "../../lib/paced.ts";
import type { StoreContext } from "../context.ts";
import { limitOf, names, notes, nullableText, nullableTime, time, timeText } from "../fields.ts";
import { matchNotes } from "../name-notes.ts";
import { defineOperation } from "../operation.ts";

const resultView = z.object({
  at: time,
  success: z.boolean(),
  reason: nullableText,
  detail: nullableText,
  /** Null: no request was sent. */
  duration_seconds: z.number().nullable(),
});

const probeView = z.object({
  probe: z.string(),
  region: z.string(),
  key: z.string(),
  operation: z.string(),
  state: z.enum(probeStates),
  failures_in_a_row: z.number(),
  last_success_at: nullableTime,
  /** Latest first. */
  results: z.array(resultView).readonly(),
});
export type ProbeStateView = z.output<typeof probeView>;

const probesAtOnce = 50;

export const listProbes = defineOperation({
  name: "listProbes",
  method: "GET",
  path: "/probes",
  summary: "The state of each probe, with its last results, latest first",
  request: z.strictObject({
    probe: names,
    /** Results of each probe. */
    limit: limitOf(10),
  }),
  response: z.object({ probes: z.array(probeView).readonly(), notes }),
  async handle(context: StoreContext, { probe, limit }) {
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
  return {
    probe,
    region,
    key,
    operation,
    state: probeState(progress),
    failures_in_a_row: progress.failuresInARow,
    last_success_at: timeText(progress.lastSuccessAtMs),
    results: results.map(({ atMs, reason, detail, durationMs }) => ({
      at: timeText(atMs),
      success: reason === null,
      reason,
      detail,
      duration_seconds: durationMs === null ? null : Math.round(durationMs) / 1_000,
    })),
  };
}
