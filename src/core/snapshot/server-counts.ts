import { statuses } from "../model.ts";
import { ByKind } from "./by-kind.ts";
import { kindIn, missingIn, serverField, serverWords, statusNumberIn } from "./page-records.ts";
import type { Page } from "./page.ts";
import { maxDistinctNames, nameBeside } from "./tallies.ts";
import type { Tallies } from "./tallies.ts";

/** Of a name: for each status those that were listed, and those that were missing. */
const countsPerName = statuses.length * 2;

/**
 * Counts servers of whole pages by their numbers, and says the names of all of them at the end: tallies
 * that count them one by one take three times as long, and a start waits for it.
 */
export class ServerCounts {
  /** In the order in which they were met, which decides which ones are too many. */
  private readonly names = new Map<string, number>();
  /** One more for what has any other name. */
  private readonly counts = new Float64Array((maxDistinctNames + 1) * countsPerName);

  private readonly numbers = new ByKind(({ serverName }) => this.numberOf(serverName ?? ""));

  add(page: Page): void {
    const { counts } = this;
    const { words, serverCount } = page;
    let at = page.serverAt(0);
    for (let server = 0; server < serverCount; server++, at += serverWords) {
      const kind = kindIn(words[at + serverField.kind] ?? 0);
      const number = this.numbers.ofNumber(page.legend, kind);
      const flags = words[at + serverField.flags] ?? 0;
      const place = number * countsPerName + statusNumberIn(flags) * 2;
      const counted = missingIn(flags) === 0 ? place : place + 1;
      counts[counted] = (counts[counted] ?? 0) + 1;
    }
  }

  addTo(tally: Tallies): void {
    for (const [name, number] of this.names) {
      for (const [index, status] of statuses.entries()) {
        const [listed = 0, missing = 0] = this.counts.subarray(number * countsPerName + index * 2);
        tally.countServer(name, status, 0, listed);
        tally.countServer(name, status, 1, missing);
      }
    }
  }

  private numberOf(serverName: string): number {
    const { names } = this;
    const name = nameBeside(names, serverName);
    const number = names.get(name) ?? names.size;
    names.set(name, number);
    return number;
  }
}
