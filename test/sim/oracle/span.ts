/** A length of time of which only the bounds are known. Whole milliseconds, both included. */
export interface Span {
  readonly leastMs: number;
  readonly mostMs: number;
}

export const noTime: Span = { leastMs: 0, mostMs: 0 };

export function plus(one: Span, { leastMs, mostMs }: Span): Span {
  return { leastMs: one.leastMs + leastMs, mostMs: one.mostMs + mostMs };
}

export interface Reaching {
  readonly reached: boolean;
  /** What is known of it then. */
  readonly span: Span;
}

/** Whether it is as long as that; both where both can be. */
export function reach(span: Span, limitMs: number): readonly Reaching[] {
  const { leastMs, mostMs } = span;
  if (leastMs >= limitMs) return [{ reached: true, span }];
  if (mostMs < limitMs) return [{ reached: false, span }];
  return [
    { reached: true, span: { leastMs: limitMs, mostMs } },
    { reached: false, span: { leastMs, mostMs: limitMs - 1 } },
  ];
}
