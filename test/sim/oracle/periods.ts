import type { Period } from "../history.ts";

/** Nothing if it is empty. */
export function period(fromMs: number, toMs: number): readonly Period[] {
  return toMs > fromMs ? [{ fromMs, toMs }] : [];
}

/** What of a period lies outside others, which are in order. */
export function without({ fromMs, toMs }: Period, others: readonly Period[]): readonly Period[] {
  const left: Period[] = [];
  let sinceMs = fromMs;
  for (const other of others) {
    if (other.fromMs > toMs) break;
    left.push(...period(sinceMs, other.fromMs));
    sinceMs = Math.max(sinceMs, other.toMs);
  }
  return [...left, ...period(sinceMs, toMs)];
}

export function common(one: Period, other: Period): readonly Period[] {
  return period(Math.max(one.fromMs, other.fromMs), Math.min(one.toMs, other.toMs));
}
