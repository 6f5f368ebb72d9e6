import { z } from "zod";
import { probeState, probeStates } from "../core/probe-progress.ts";
import type { ProbeResult } from "../core/probe-progress.ts";
import type { ProbeView } from "../core/probe-view.ts";
import { batches, paced } from "../platform/paced.ts";
import { notesOf } from "./name-notes.ts";
import { limitOf, listOf, readRequest } from "./requests.ts";
import { notes, nullableText, nullableTime, time, timeText } from "./views.ts";

/** What people ask of sandwatch about its probes. */
export interface ProbeDesk {
  probes(query: ProbesQuery): Promise<ProbesView>;
}

export interface ProbeDeskDeps {
  readonly probes: readonly ProbeView[];
  readonly store: {
    readonly probes: {
      results(id: number, limit: number): Promise<readonly ProbeResult[]>;
    };
  };
}

export const probesQuery = z.strictObject({
  /** Of these alone. */
  probe: listOf(z.string().min(1)),
  /** So many results of each. */
  limit: limitOf(10),
});
export type ProbesQuery = z.input<typeof probesQuery>;

const resultView = z.object({
  at: time,
  success: z.boolean(),
  reason: nullableText,
  detail: nullableText,
  /** Null: nothing was sent. */
  duration_seconds: z.number().nullable(),
});

export const probesView = z.object({
  probes: z
    .array(
      z.object({
        probe: z.string(),
        region: z.string(),
        key: z.string(),
        operation: z.string(),
        state: z.enum(probeStates),
        failures_in_a_row: z.number(),
        last_success_at: nullableTime,
        /** Latest first. */
        results: z.array(resultView).readonly(),
      }),
    )
    .readonly(),
  notes,
});
export type ProbesView = z.output<typeof probesView>;

const probesAtOnce = 50;

export function createProbeDesk({ probes, store }: ProbeDeskDeps): ProbeDesk {
  const names = [...new Set(probes.map(({ subject }) => subject.probe))];
  return {
    async probes(query) {
      const { probe: asked, limit } = readRequest(probesQuery, query);
      const wanted = probes.filter(
        ({ subject }) => asked.length === 0 || asked.includes(subject.probe),
      );
      const views: ProbesView["probes"][number][] = [];
      for await (const some of paced(batches(wanted, probesAtOnce))) {
        for (const each of some) {
          views.push(viewProbe(each, await store.probes.results(each.id, limit)));
        }
      }
      return { probes: views, notes: notesOf("probe", asked, names) };
    },
  };
}

function viewProbe(
  { subject: { probe, region, key }, operation, progress }: ProbeView,
  results: readonly ProbeResult[],
): ProbesView["probes"][number] {
  return {
    probe,
    region,
    key,
    operation,
    state: probeState(progress),
    failures_in_a_row: progress.failuresInARow,
    last_success_at: timeText(progress.lastSuccessAtMs),
    results: results.map(viewResult),
  };
}

function viewResult({
  atMs,
  reason,
  detail,
  durationMs,
}: ProbeResult): z.output<typeof resultView> {
  return {
    at: timeText(atMs),
    success: reason === null,
    reason,
    detail,
    duration_seconds: durationMs === null ? null : Math.round(durationMs) / 1_000,
  };
}
