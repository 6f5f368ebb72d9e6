import type { ChaosResult } from "./chaos.ts";
import { countFaults, faultKinds } from "./faults.ts";
import { intervalMs, leaseMs } from "./world.ts";

const takeOverMs = leaseMs + intervalMs;

function percentile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

/** What share of the faults may find nothing to happen to, as no replica commits or is called just then. */
const missedShare = 0.2;
/** From as many faults on, some replicas were killed while all others were well. */
const manyFaults = 100;

/** @returns what is wrong, in words */
export function judgeChaos(result: ChaosResult): readonly string[] {
  const { problems, faults, takeOversMs, handOversMs, counts } = result;
  const limits = [
    ["taking over", takeOversMs, 0.99, takeOverMs],
    ["handing over", handOversMs, 0.99, takeOverMs],
    // Where nothing is released, it takes two thirds of a lease or more.
    ["handing over", handOversMs, 0.5, leaseMs / 2],
  ] as const;
  const late = limits.flatMap(([what, samples, share, limitMs]) => {
    const tookMs = percentile(samples, share);
    return tookMs > limitMs
      ? [`${what} took ${tookMs} ms, p${100 * share}: at most ${limitMs} is allowed`]
      : [];
  });
  const count = countFaults(faults);
  const missed = counts["missed"] ?? 0;
  const isUnproved = counts["replicas"] !== 1 && count >= manyFaults && takeOversMs.length === 0;
  return [
    ...problems,
    ...late,
    ...(isUnproved ? ["no take-over was measured"] : []),
    ...(missed > missedShare * (count + missed)
      ? [`${missed} faults found nothing to happen to`]
      : []),
  ];
}

/** A table in Markdown. */
export function formatChaos(result: ChaosResult): string {
  const { faults, takeOversMs, handOversMs, events, counts } = result;
  const times = (samples: readonly number[]): string =>
    samples.length === 0
      ? "none"
      : `median ${percentile(samples, 0.5)}, p99 ${percentile(samples, 0.99)}, longest ${percentile(samples, 1)} ms (${samples.length})`;
  const rows: readonly (readonly [string, string])[] = [
    ...Object.entries(counts).map(([what, count]) => [what, String(count)] as const),
    ...faultKinds.map((kind) => [`fault: ${kind}`, String(faults.get(kind) ?? 0)] as const),
    ["a target after a kill, last call to next", times(takeOversMs)],
    ["a target handed over, last call to next", times(handOversMs)],
    ...Array.from(events, ([event, count]) => [`log: ${event}`, String(count)] as const),
  ];
  const width = Math.max(...rows.map(([what]) => what.length));
  return rows.map(([what, value]) => `| ${what.padEnd(width)} | ${value} |`).join("\n");
}
