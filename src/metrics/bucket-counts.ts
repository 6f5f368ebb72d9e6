import { bucketBoundText, numberText } from "./exposition-text.ts";
import type { ExpositionSyntax } from "./exposition-text.ts";

/** Histograms of the same bounds, by number, in one array: of each its buckets and its sum. */
export class BucketCounts {
  private readonly bounds: readonly number[];
  private readonly numbers: Float64Array;

  /** @param bounds ascending, without infinity */
  constructor(bounds: readonly number[], histograms: number) {
    this.bounds = bounds;
    this.numbers = new Float64Array(histograms * (bounds.length + 2));
  }

  observe(histogram: number, value: number, count = 1): void {
    const { bounds, numbers } = this;
    const start = histogram * (bounds.length + 2);
    let bucket = 0;
    while (bucket < bounds.length && value > (bounds[bucket] ?? 0)) bucket++;
    numbers[start + bucket] = (numbers[start + bucket] ?? 0) + count;
    const sum = start + bounds.length + 1;
    numbers[sum] = (numbers[sum] ?? 0) + value * count;
  }

  take(): Float64Array {
    return this.numbers.slice();
  }
}

/**
 * The lines of one histogram.
 *
 * @param labels without braces
 * @param taken as `take` gave it
 */
export function histogramText(
  {
    name,
    labels,
    bounds,
    syntax,
  }: {
    readonly name: string;
    readonly labels: string;
    readonly bounds: readonly number[];
    readonly syntax: ExpositionSyntax;
  },
  taken: Float64Array,
  histogram: number,
): string {
  const start = histogram * (bounds.length + 2);
  let text = "";
  let count = 0;
  for (let bucket = 0; bucket <= bounds.length; bucket++) {
    count += taken[start + bucket] ?? 0;
    const bound = bucketBoundText(syntax, bounds[bucket] ?? Infinity);
    text += `${name}_bucket{le="${bound}",${labels}} ${count}\n`;
  }
  const sum = numberText(taken[start + bounds.length + 1] ?? 0);
  return `${text}${name}_sum{${labels}} ${sum}\n${name}_count{${labels}} ${count}\n`;
}
