import { presences } from "../model.ts";
import type { Presence } from "../model.ts";
import { pageOf } from "./page.ts";
import { statusNumberIn } from "./page-records.ts";
import type { SightingParts } from "./steps.ts";

const absent = presences.indexOf("absent");
const noPage = pageOf(
  { id: 0, sandboxCount: 0, legend: { texts: [""], kinds: [] } },
  new Uint32Array(0),
);

/**
 * Goes over changes, and is the one that it stands at: of a million of them, each asked for a few times,
 * none is made. Ids are unpacked where they are asked for.
 */
export class ChangeCursor {
  /** Where the server is: after the change, or before it where that is gone. */
  page = noPage;
  server = 0;
  /** Count in `presences`. */
  fromNumber = 0;
  toNumber = 0;
  readonly lapse = null;
  private readonly parts: SightingParts;
  private isRemoved = false;
  /** The sandbox that was found last, and where its servers are. */
  private sandboxPage = noPage;
  private lastSandbox = 0;
  private sandboxBegin = 0;
  private sandboxEnd = 0;
  private step = 0;
  private removedStep = 0;

  constructor(parts: SightingParts) {
    this.parts = parts;
  }

  /** Goes to the first one, or the next; false past the last. */
  next(): boolean {
    return this.nextTouched() || this.nextRemoved();
  }

  /** In the page. */
  get sandbox(): number {
    const { page, server } = this;
    if (page !== this.sandboxPage) this.seeSandbox(page.sandboxOfServer(server));
    // Most are of the sandbox that the one before was of, or of the next one.
    else if (server >= this.sandboxEnd && this.lastSandbox + 1 < page.sandboxCount) {
      this.seeSandbox(this.lastSandbox + 1);
    }
    if (server < this.sandboxBegin || server >= this.sandboxEnd) {
      this.seeSandbox(page.sandboxOfServer(server));
    }
    return this.lastSandbox;
  }

  get sandboxId(): string {
    return this.page.sandboxId(this.sandbox);
  }

  get serverId(): string {
    return this.page.serverId(this.server);
  }

  get serverName(): string | null {
    return this.page.serverName(this.server);
  }

  get from(): Presence {
    return presences[this.fromNumber] ?? "unknown";
  }

  get to(): Presence {
    return presences[this.toNumber] ?? "unknown";
  }

  /** For how long it was watched in `from`; null unless both ends were witnessed. Milliseconds. */
  get stayMs(): number | null {
    const { sorted, observedMs, witnessed } = this.parts;
    if (!this.isRemoved) return sorted.stayMs(this.step - 1);
    return witnessed ? this.page.watchedMs(this.server, observedMs) : null;
  }

  private seeSandbox(sandbox: number): void {
    const { page } = this;
    this.sandboxPage = page;
    this.lastSandbox = sandbox;
    this.sandboxBegin = page.serversBegin(sandbox);
    this.sandboxEnd = page.serversEnd(sandbox);
  }

  private nextTouched(): boolean {
    const { parts } = this;
    const { after, touched, sorted } = parts;
    while (this.step < touched.length) {
      const step = this.step++;
      if (!sorted.isChange(step)) continue;
      const page = after[touched.pageAfter(step)];
      if (!page) continue;
      this.page = page;
      this.server = touched.serverAfter(step);
      this.fromNumber = sorted.fromNumber(step);
      this.toNumber = sorted.toNumber(step);
      return true;
    }
    return false;
  }

  private nextRemoved(): boolean {
    const { before, removed } = this.parts;
    while (this.removedStep < removed.length) {
      const step = this.removedStep++;
      const page = before[removed.pageAfter(step)];
      if (!page) continue;
      this.page = page;
      this.server = removed.serverAfter(step);
      this.fromNumber = statusNumberIn(page.serverFlags(this.server));
      this.toNumber = absent;
      this.isRemoved = true;
      return true;
    }
    return false;
  }
}
