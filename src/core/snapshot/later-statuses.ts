import type { Status } from "../model.ts";
import { withStatus } from "./page.ts";

/** Statuses of records that are yet to be copied. */
export class LaterStatuses {
  private readonly places: number[] = [];
  private readonly statuses: Status[] = [];

  /** @param at where the record's flags will be */
  add(at: number, status: Status): void {
    this.places.push(at);
    this.statuses.push(status);
  }

  /** Once the records are there. */
  writeTo(words: Uint32Array): void {
    const { places, statuses } = this;
    for (let index = 0; index < places.length; index++) {
      const at = places[index] ?? 0;
      words[at] = withStatus(words[at] ?? 0, statuses[index] ?? "unknown");
    }
    places.length = statuses.length = 0;
  }
}
