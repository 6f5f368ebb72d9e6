import { BucketCounts, histogramText } from "./bucket-counts.ts";
import type { TargetFamily } from "./target-family.ts";

export interface LabelledHistogramOptions {
  readonly name: string;
  readonly help: string;
  /** Ascending, without infinity. */
  readonly bounds: readonly number[];
  /** Of each histogram, without braces. */
  readonly labels: readonly string[];
}

/** Histograms of a family whose labels are known from the start, and are not looked at again to count. */
export class LabelledHistogram {
  readonly family: TargetFamily;
  private readonly counts: BucketCounts;

  constructor({ name, help, bounds, labels }: LabelledHistogramOptions) {
    this.counts = new BucketCounts(bounds, labels.length);
    this.family = {
      name,
      help,
      type: "histogram",
      take: (syntax) => {
        const taken = this.counts.take();
        return labels
          .values()
          .map((each, index) =>
            histogramText({ name, labels: each, bounds, syntax }, taken, index),
          );
      },
    };
  }

  /** @param index of its labels */
  observe(index: number, value: number): void {
    this.counts.observe(index, value);
  }
}
