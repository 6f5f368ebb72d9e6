export interface Scale {
  /** Where a value stands, in pixels. */
  at(value: number): number;
  readonly ticks: readonly number[];
}

export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Powers of ten, from the one at or below the least value to the one at or above the greatest. */
export function logScale(values: readonly number[], pixels: Span): Scale {
  const first = Math.floor(Math.log10(Math.min(...values)));
  const last = Math.max(first + 1, Math.ceil(Math.log10(Math.max(...values))));
  const ticks = Array.from({ length: last - first + 1 }, (_, index) => 10 ** (first + index));
  return {
    ticks,
    at: (value) => place((Math.log10(value) - first) / (last - first), pixels),
  };
}

const wishedTicks = 5;

/** From zero, in steps of 1, 2 or 5 times a power of ten. */
export function linearScale(values: readonly number[], pixels: Span): Scale {
  const most = Math.max(...values, 0) || 1;
  const power = 10 ** Math.floor(Math.log10(most / wishedTicks));
  const step = ([1, 2, 5].find((each) => each * power * wishedTicks >= most) ?? 10) * power;
  const steps = Math.ceil(most / step - 1e-9);
  const ticks = Array.from({ length: steps + 1 }, (_, index) =>
    Number((index * step).toPrecision(12)),
  );
  return { ticks, at: (value) => place(value / (steps * step), pixels) };
}

function place(share: number, { from, to }: Span): number {
  return Math.round((from + share * (to - from)) * 10) / 10;
}
