import type { Status } from "../model.ts";
import type { EndedStays } from "./accounts.ts";
import { byStatus } from "./bucket.ts";
import { GrowingSketch } from "./stay-sketch.ts";

/** Gathers the stays that ended with a poll. */
export class GatheredStays {
  private readonly byName = new Map<string, Readonly<Record<Status, GrowingSketch>>>();

  /** @param serverName as aggregates show it */
  add(serverName: string, status: Status, ms: number): void {
    let ofName = this.byName.get(serverName);
    if (!ofName) this.byName.set(serverName, (ofName = byStatus(() => new GrowingSketch())));
    ofName[status].add(ms);
  }

  toStays(): EndedStays {
    const stays = new Map<string, ReturnType<typeof sketchesOf>>();
    for (const [name, ofName] of this.byName) stays.set(name, sketchesOf(ofName));
    return stays;
  }
}

function sketchesOf(growing: Readonly<Record<Status, GrowingSketch>>) {
  return byStatus((status) => growing[status].toSketch());
}
