import type { ChaosResult } from "./chaos.ts";
import { countFaults, faultKinds } from "./faults.ts";
import type { TakeOver } from "./take-overs.ts";
import { intervalMs, leaseMs } from "./world.ts";

function percentile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

/** What share of the faults may find nothing to happen to, as no process commits or is called just then. */
const missedShare = 0.2;
/** From as many faults on, some happened while all was well. */
const manyFaults = 100;
/** How long a process may take to end, and another one to become active. */
const handOverMs = 2_000;

/** How much later than allowed each target was polled again, beside the start of the process that took over. */
function latenessOf({ kind, startMs, polledMs }: TakeOver): readonly number[] {
  const allowedMs = startMs + intervalMs + (kind === "stop" ? handOverMs : leaseMs);
  return polledMs.map((ms) => ms - allowedMs);
}

/** @returns what is wrong, in words */
export function judgeChaos(result: ChaosResult): readonly string[] {
  const { problems, faults, takeOvers, counts } = result;
  const lateMs = percentile(takeOvers.flatMap(latenessOf), 0.99);
  const count = countFaults(faults);
  const missed = counts["missed"] ?? 0;
  return [
    ...problems,
    ...(lateMs > 0 ? [`targets were polled ${lateMs} ms too late after a take-over, p99`] : []),
    ...(count >= manyFaults && takeOvers.length === 0 ? ["no take-over was measured"] : []),
    ...(missed > missedShare * (count + missed)
      ? [`${missed} faults found nothing to happen to`]
      : []),
  ];
}

/** A table in Markdown. */
export function formatChaos({ faults, takeOvers, events, counts }: ChaosResult): string {
  const times = (samples: readonly number[]): string =>
    samples.length === 0
      ? "none"
      : `median ${percentile(samples, 0.5)}, p99 ${percentile(samples, 0.99)}, longest ${percentile(samples, 1)} ms (${samples.length})`;
  const measured = Array.from(Map.groupBy(takeOvers, ({ kind }) => kind)).flatMap(
    ([kind, some]) => [
      [`${kind}, until another is active`, times(some.map(({ activeMs }) => activeMs))] as const,
      [`${kind}, until targets are polled`, times(some.flatMap((each) => each.polledMs))] as const,
    ],
  );
  const byEvent = Map.groupBy(events, ({ event }) => event);
  const rows: readonly (readonly [string, string])[] = [
    ...Object.entries(counts).map(([what, count]) => [what, String(count)] as const),
    ...faultKinds.map((kind) => [`fault: ${kind}`, String(faults.get(kind) ?? 0)] as const),
    ...measured,
    ["start", times(takeOvers.map(({ startMs }) => startMs))],
    ...Array.from(byEvent, ([event, some]) => [`log: ${event}`, String(some.length)] as const),
  ];
  const width = Math.max(...rows.map(([what]) => what.length));
  return rows.map(([what, value]) => `| ${what.padEnd(width)} | ${value} |`).join("\n");
}
