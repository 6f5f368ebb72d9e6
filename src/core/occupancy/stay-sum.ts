import type { StaySketch } from "./stay-sketch.ts";

/** No more than this many bins are there at first. */
const fewBins = 64;

/** Sketches of stays added up in place. */
export class StaySum {
  sumMs = 0;
  /** Stays by number of bin, from the number of the first one on. */
  private counts = new Float64Array(0);
  private firstBin = 0;

  add({ sumMs, bins, counts }: StaySketch): void {
    this.sumMs += sumMs;
    for (let at = 0; at < bins.length; at++) this.addBin(bins[at] ?? 0, counts[at] ?? 0);
  }

  addBin(bin: number, count: number): void {
    let at = bin - this.firstBin;
    if (at < 0 || at >= this.counts.length) {
      this.makeRoom(bin);
      at = bin - this.firstBin;
    }
    this.counts[at] = (this.counts[at] ?? 0) + count;
  }

  toSketch(): StaySketch {
    const bins: number[] = [];
    const counts: number[] = [];
    for (const [at, count] of this.counts.entries()) {
      if (count > 0) {
        bins.push(this.firstBin + at);
        counts.push(count);
      }
    }
    return { sumMs: this.sumMs, bins, counts };
  }

  private makeRoom(bin: number): void {
    const { counts, firstBin } = this;
    if (counts.length === 0) {
      this.firstBin = bin - fewBins / 2;
      this.counts = new Float64Array(fewBins);
      return;
    }
    const from = Math.min(firstBin, bin - fewBins / 2);
    const end = Math.max(firstBin + counts.length, bin + fewBins / 2);
    this.firstBin = from;
    this.counts = new Float64Array(end - from);
    this.counts.set(counts, firstBin - from);
  }
}
