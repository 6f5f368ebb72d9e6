import type { Status } from "../model.ts";
import { withStatus } from "./page-records.ts";

/** Statuses of records that are yet to be copied. */
export class LaterStatuses {
  // Emptied by their count: arrays that are cut to nothing grow anew.
  private readonly places: number[] = [];
  private readonly statuses: Status[] = [];
  private count = 0;

  /** @param at where the record's flags will be */
  add(at: number, status: Status): void {
    this.places[this.count] = at;
    this.statuses[this.count++] = status;
  }

  /** Once the records are there. */
  writeTo(words: Uint32Array): void {
    const { places, statuses, count } = this;
    for (let index = 0; index < count; index++) {
      const at = places[index] ?? 0;
      words[at] = withStatus(words[at] ?? 0, statuses[index] ?? "unknown");
    }
    this.count = 0;
  }
}
