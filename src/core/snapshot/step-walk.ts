import { presences } from "../model.ts";
import type { ChangePacker, Lapse } from "./packed-changes.ts";
import { statusNumberIn } from "./page-records.ts";
import { pageOf } from "./page.ts";
import type { Page } from "./page.ts";
import type { SightingParts, Steps } from "./steps.ts";

const absent = presences.indexOf("absent");
const noPage = pageOf(
  { id: 0, sandboxCount: 0, legend: { texts: [""], kinds: [] } },
  new Uint32Array(0),
);

/** Goes over the steps of a listing, and packs what came of them: all changes, then all lapses. */
export class StepWalk {
  private readonly parts: SightingParts;
  private touched = 0;
  private removed = 0;
  private lacked = 0;
  private seenAgain = 0;
  /** The sandbox that was found last, and where its servers are. */
  private page = noPage;
  private sandbox = 0;
  private sandboxBegin = 0;
  private sandboxEnd = 0;

  constructor(parts: SightingParts) {
    this.parts = parts;
  }

  /** As many as have room. */
  packSome(packer: ChangePacker): void {
    this.packTouched(packer);
    this.packRemoved(packer);
    this.packLacked(packer);
    this.packSeenAgain(packer);
  }

  private packTouched(packer: ChangePacker): void {
    const { before, after, touched, sorted, observedMs, witnessed } = this.parts;
    while (this.touched < touched.length && !packer.isFull) {
      const step = this.touched++;
      if (!sorted.isChange(step)) continue;
      const page = after[touched.pageAfter(step)];
      if (!page) continue;
      const server = touched.serverAfter(step);
      // Who was not watching now does not know when the status ended.
      const pageBefore = witnessed ? before[touched.pageBefore(step)] : undefined;
      const stayMs = pageBefore
        ? pageBefore.watchedMs(touched.serverBefore(step), observedMs)
        : null;
      packer.addPlaced(
        page,
        server,
        this.sandboxOf(page, server),
        sorted.fromNumber(step),
        sorted.toNumber(step),
        stayMs,
        null,
      );
    }
  }

  private packRemoved(packer: ChangePacker): void {
    const { before, removed, observedMs, witnessed } = this.parts;
    while (this.removed < removed.length && !packer.isFull) {
      const step = this.removed++;
      const page = before[removed.pageAfter(step)];
      if (!page) continue;
      const server = removed.serverAfter(step);
      const from = statusNumberIn(page.serverFlags(server));
      const stayMs = witnessed ? page.watchedMs(server, observedMs) : null;
      packer.addPlaced(page, server, this.sandboxOf(page, server), from, absent, stayMs, null);
    }
  }

  private packLacked(packer: ChangePacker): void {
    const { before, lacked } = this.parts;
    while (this.lacked < lacked.length && !packer.isFull) {
      this.packLapse(packer, before, lacked, this.lacked++, "missing");
    }
  }

  private packSeenAgain(packer: ChangePacker): void {
    const { after, touched, sorted } = this.parts;
    if (sorted.seenAgain === 0) return;
    while (this.seenAgain < touched.length && !packer.isFull) {
      const step = this.seenAgain++;
      if (sorted.isSeenAgain(step)) this.packLapse(packer, after, touched, step, "seen");
    }
  }

  private packLapse(
    packer: ChangePacker,
    pages: readonly Page[],
    steps: Steps,
    step: number,
    lapse: Lapse,
  ): void {
    const page = pages[steps.pageAfter(step)];
    if (!page) return;
    const server = steps.serverAfter(step);
    const status = statusNumberIn(page.serverFlags(server));
    packer.addPlaced(page, server, this.sandboxOf(page, server), status, status, null, lapse);
  }

  private sandboxOf(page: Page, server: number): number {
    if (page !== this.page) this.see(page, page.sandboxOfServer(server));
    // Most are of the sandbox that the one before was of, or of the next one.
    else if (server >= this.sandboxEnd && this.sandbox + 1 < page.sandboxCount)
      this.see(page, this.sandbox + 1);
    if (server < this.sandboxBegin || server >= this.sandboxEnd) {
      this.see(page, page.sandboxOfServer(server));
    }
    return this.sandbox;
  }

  private see(page: Page, sandbox: number): void {
    this.page = page;
    this.sandbox = sandbox;
    this.sandboxBegin = page.serversBegin(sandbox);
    this.sandboxEnd = page.serversEnd(sandbox);
  }
}
