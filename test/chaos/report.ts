import type { ChaosResult } from "./chaos.ts";
import { faultKinds } from "./faults.ts";
import { intervalMs, leaseMs } from "./world.ts";

const takeOverMs = leaseMs + intervalMs;

function percentile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

/** @returns what is wrong, in words */
export function judgeChaos({ problems, takeOversMs }: ChaosResult): readonly string[] {
  const p99Ms = percentile(takeOversMs, 0.99);
  if (takeOversMs.length === 0 || p99Ms <= takeOverMs) return problems;
  return [...problems, `taking over took ${p99Ms} ms, p99: at most ${takeOverMs} is allowed`];
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
