import type { OpenStatuses } from "../listing-intake.ts";
import type { Status } from "../model.ts";
import { statusIn } from "./page.ts";
import type { Page } from "./page.ts";

/** The statuses that a text gives a sandbox and its servers: used again for the next one. */
export class GivenStatuses {
  own: Status = "unknown";
  /** In the order of the page. */
  readonly ofServers: Status[] = [];

  /**
   * @param open where the text has the statuses that are not unknown; nothing else differs from the page
   * @param statuses these, in the order of the text
   */
  set(page: Page, sandbox: number, open: OpenStatuses, statuses: readonly Status[]): this {
    const hasOwn = statusIn(page.sandboxFlags(sandbox)) !== "unknown";
    const ownPlace = open === "own_last" ? statuses.length - 1 : 0;
    this.own = hasOwn ? (statuses[ownPlace] ?? "unknown") : "unknown";
    let next = hasOwn && ownPlace === 0 ? 1 : 0;
    this.ofServers.length = 0;
    const end = page.serversEnd(sandbox);
    for (let server = page.serversBegin(sandbox); server < end; server++) {
      const hasStatus = statusIn(page.serverFlags(server)) !== "unknown";
      this.ofServers.push(hasStatus ? (statuses[next++] ?? "unknown") : "unknown");
    }
    return this;
  }

  isOf(page: Page, sandbox: number): boolean {
    if (statusIn(page.sandboxFlags(sandbox)) !== this.own) return false;
    const begin = page.serversBegin(sandbox);
    return this.ofServers.every(
      (status, index) => statusIn(page.serverFlags(begin + index)) === status,
    );
  }
}
