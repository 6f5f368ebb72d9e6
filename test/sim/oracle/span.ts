/** A length of time of which only the bounds are known. Whole milliseconds, both included. */
export interface Span {
  readonly leastMs: number;
  readonly mostMs: number;
}

export const noTime: Span = { leastMs: 0, mostMs: 0 };

export function plus(one: Span, { leastMs, mostMs }: Span): Span {
  return { leastMs: one.leastMs + leastMs, mostMs: one.mostMs + mostMs };
}

/** Whether a span reaches a limit, and what is known of it then: both where both are possible. */
export function reach(span: Span, limitMs: number) {
  const { leastMs, mostMs } = span;
  if (leastMs >= limitMs) return [{ reached: true, span }];
  if (mostMs < limitMs) return [{ reached: false, span }];
  return [
    { reached: true, span: { leastMs: limitMs, mostMs } },
    { reached: false, span: { leastMs, mostMs: limitMs - 1 } },
  ];
}
