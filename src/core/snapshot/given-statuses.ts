import type { OpenStatuses } from "../text-mark.ts";
import type { ListedSandbox } from "../model.ts";
import { statusNumber, statusNumberIn } from "./page-records.ts";
import type { Page } from "./page.ts";

const unknown = statusNumber("unknown");

/** The statuses, by number, that a text gives a sandbox and its servers: used again for the next one. */
export class GivenStatuses {
  own = unknown;
  /** In the order of the page; what is behind the count is of an earlier text. */
  readonly ofServers: number[] = [];
  count = 0;
  private statuses: Uint8Array = new Uint8Array();
  private taken = 0;

  /** Those that come next are given by texts, one after another. */
  begin(statuses: Uint8Array): void {
    this.statuses = statuses;
    this.taken = 0;
  }

  /**
   * Takes as many as the next text gives.
   *
   * @param open where it has the statuses that are not unknown; nothing else differs from the page
   */
  next(page: Page, sandbox: number, open: OpenStatuses, given: number): this {
    const { statuses, taken, ofServers } = this;
    const hasOwn = statusNumberIn(page.sandboxFlags(sandbox)) !== unknown;
    const isOwnLast = open === "own_last";
    const ownPlace = isOwnLast ? taken + given - 1 : taken;
    this.own = hasOwn ? (statuses[ownPlace] ?? unknown) : unknown;
    let place = hasOwn && !isOwnLast ? taken + 1 : taken;
    const begin = page.serversBegin(sandbox);
    this.count = page.serversEnd(sandbox) - begin;
    for (let index = 0; index < this.count; index++) {
      const hasStatus = statusNumberIn(page.serverFlags(begin + index)) !== unknown;
      ofServers[index] = hasStatus ? (statuses[place++] ?? unknown) : unknown;
    }
    this.taken += given;
    return this;
  }

  /** @param listed with the servers of a page, in their order */
  setListed({ status, servers }: ListedSandbox): this {
    this.own = statusNumber(status);
    this.count = 0;
    for (const server of servers) this.ofServers[this.count++] = statusNumber(server.status);
    return this;
  }

  isOf(page: Page, sandbox: number): boolean {
    if (statusNumberIn(page.sandboxFlags(sandbox)) !== this.own) return false;
    const { ofServers, count } = this;
    const begin = page.serversBegin(sandbox);
    for (let index = 0; index < count; index++) {
      if (statusNumberIn(page.serverFlags(begin + index)) !== ofServers[index]) return false;
    }
    return true;
  }
}
