import type { OpenStatuses } from "../listing-intake.ts";
import type { ListedSandbox, Status } from "../model.ts";
import { statusIn } from "./page-records.ts";
import type { Page } from "./page.ts";

/** The statuses that a text gives a sandbox and its servers: used again for the next one. */
export class GivenStatuses {
  own: Status = "unknown";
  /** In the order of the page; what is behind the count is of an earlier text. */
  readonly ofServers: Status[] = [];
  count = 0;

  /**
   * @param open where the text has the statuses that are not unknown; nothing else differs from the page
   * @param statuses these, in the order of the text
   */
  set(page: Page, sandbox: number, open: OpenStatuses, statuses: readonly Status[]): this {
    const hasOwn = statusIn(page.sandboxFlags(sandbox)) !== "unknown";
    const ownPlace = open === "own_last" ? statuses.length - 1 : 0;
    this.own = hasOwn ? (statuses[ownPlace] ?? "unknown") : "unknown";
    let next = hasOwn && ownPlace === 0 ? 1 : 0;
    const { ofServers } = this;
    const begin = page.serversBegin(sandbox);
    const count = page.serversEnd(sandbox) - begin;
    for (let index = 0; index < count; index++) {
      const hasStatus = statusIn(page.serverFlags(begin + index)) !== "unknown";
      ofServers[index] = hasStatus ? (statuses[next++] ?? "unknown") : "unknown";
    }
    this.count = count;
    return this;
  }

  /** @param listed with the servers of a page, in their order */
  setListed({ status, servers }: ListedSandbox): this {
    this.own = status;
    this.count = 0;
    for (const server of servers) this.ofServers[this.count++] = server.status;
    return this;
  }

  isOf(page: Page, sandbox: number): boolean {
    if (statusIn(page.sandboxFlags(sandbox)) !== this.own) return false;
    const { ofServers, count } = this;
    const begin = page.serversBegin(sandbox);
    for (let index = 0; index < count; index++) {
      if (statusIn(page.serverFlags(begin + index)) !== ofServers[index]) return false;
    }
    return true;
  }
}
