import type { ListedSandbox, ListedServer } from "../model.ts";
import type { MarkWords } from "../text-mark.ts";
import { ByKind } from "./by-kind.ts";
import type { GivenStatuses } from "./given-statuses.ts";
import { isIdAt, SoughtId } from "./id-table.ts";
import { findServer } from "./packed-snapshot.ts";
import type { PackedSnapshot, SandboxPlace } from "./packed-snapshot.ts";
import type { PageSequence } from "./page-sequence.ts";
import {
  maxMissing,
  missingIn,
  sandboxField,
  sandboxWords,
  statusIn,
  statusNumberIn,
  statusOf,
} from "./page-records.ts";
import type { Page } from "./page.ts";
import type { Since } from "./page-records.ts";
import { isOfKind } from "./server-kind.ts";
import { serverKey } from "./snapshot.ts";
import { Steps } from "./steps.ts";
import { restateServer } from "./tallies.ts";
import type { Tallies } from "./tallies.ts";

/** Where a sandbox is written that is known but for statuses, which count in `statuses`. */
interface RestatedPage {
  /** @returns the first one of its servers there */
  restate(page: Page, sandbox: number, status: number, mark: MarkWords | null): number;
  restateServer(server: number, status: number): void;
}

/** Writes sandboxes as a listing has them, going on from what was known of them, and counts. */
export class SandboxWriter {
  readonly touched = new Steps();
  readonly removed = new Steps();
  /** Those of before that are missing for the first time. */
  readonly lacked = new Steps();
  /** Servers that a sandbox was listed without. */
  readonly unlisted = new Set<string>();
  leftOut = 0;
  /** Whether what the listing lacks is missing. */
  complete: boolean;
  private readonly tallyBefore: Tallies;
  private copiedTally: Tallies | null = null;
  private readonly tallies = new ByKind(({ serverName }) => this.tally.tallyOf(serverName));
  private readonly sequence: PageSequence;
  private readonly goneAfter: number;
  private readonly id = new SoughtId();

  constructor(
    before: PackedSnapshot,
    sequence: PageSequence,
    options: { readonly goneAfter: number; readonly complete: boolean },
  ) {
    this.tallyBefore = before.tally;
    this.sequence = sequence;
    this.goneAfter = Math.min(options.goneAfter, maxMissing);
    this.complete = options.complete;
  }

  /** The counts so far: those from before as long as nothing is counted. */
  get counts(): Tallies {
    return this.copiedTally ?? this.tallyBefore;
  }

  private get tally(): Tallies {
    return (this.copiedTally ??= this.tallyBefore.copy());
  }

  /** Whether a sandbox is listed just as it was known, but for statuses. */
  isAlike(page: Page, sandbox: number, listed: ListedSandbox): boolean {
    const begin = page.serversBegin(sandbox);
    if (missingIn(page.sandboxFlags(sandbox)) !== 0) return false;
    if (page.textAt(sandbox * sandboxWords + sandboxField.benchmark) !== listed.benchmark) {
      return false;
    }
    if (page.serversEnd(sandbox) - begin !== listed.servers.length) return false;
    for (let index = 0; index < listed.servers.length; index++) {
      const server = listed.servers[index];
      const known = begin + index;
      if (!server || !isAlikeServer(page, known, server)) return false;
      this.id.set(server.serverId);
      if (!isIdAt(page, page.serverAt(known), page.serverFlags(known), this.id)) return false;
    }
    return true;
  }

  /** @param known where it was before; null for a new one */
  write(listed: ListedSandbox, known: SandboxPlace | null, mark: MarkWords | null): void {
    const { draft } = this.sequence;
    draft.beginSandbox(listed.sandboxId, listed, mark);
    this.tally.sandboxes[listed.status]++;
    if (!known) {
      for (const server of listed.servers) this.writeNew(server);
    } else {
      this.tally.sandboxes[statusIn(known.page.sandboxFlags(known.sandbox))]--;
      this.writeServers(listed, known);
    }
    this.sequence.endSandbox();
  }

  /** One that is listed as it was known, but for statuses. No server of it is missing. */
  writeRestated(
    { page, pageIndex, sandbox }: SandboxPlace,
    { own, ofServers, count }: GivenStatuses,
    mark: MarkWords | null,
    written: RestatedPage,
  ): void {
    const begin = page.serversBegin(sandbox);
    const firstServer = written.restate(page, sandbox, own, mark);
    const { tally, tallies } = this;
    tally.sandboxes[statusIn(page.sandboxFlags(sandbox))]--;
    tally.sandboxes[statusOf(own)]++;
    for (let index = 0; index < count; index++) {
      const known = statusNumberIn(page.serverFlags(begin + index));
      const status = ofServers[index] ?? known;
      if (status === known) continue;
      this.touched.add(this.sequence.pages.length, firstServer + index, pageIndex, begin + index);
      written.restateServer(firstServer + index, status);
      restateServer(tallies.of(page, begin + index), statusOf(known), statusOf(status));
    }
  }

  /** A sandbox that the listing lacked. */
  writeUnlisted({ page, pageIndex, sandbox }: SandboxPlace): void {
    const { draft } = this.sequence;
    const flags = page.sandboxFlags(sandbox);
    const missing = missingIn(flags) + (this.complete ? 1 : 0);
    const gone = this.complete && missing >= this.goneAfter;
    if (gone) this.tally.sandboxes[statusIn(flags)]--;
    else draft.copySandbox(page, sandbox, missing, null);
    const end = page.serversEnd(sandbox);
    for (let server = page.serversBegin(sandbox); server < end; server++) {
      this.writeMissing(page, pageIndex, server, gone);
    }
    this.sequence.endSandbox();
  }

  private writeServers(listed: ListedSandbox, { page, pageIndex, sandbox }: SandboxPlace): void {
    const begin = page.serversBegin(sandbox);
    const count = page.serversEnd(sandbox) - begin;
    const found = new Uint8Array(count);
    let hint = begin;
    let byId: ReadonlyMap<string, number> | null = null;
    let misses = 0;
    for (const server of listed.servers) {
      this.id.set(server.serverId);
      let known = -1;
      if (
        hint < begin + count &&
        isIdAt(page, page.serverAt(hint), page.serverFlags(hint), this.id)
      ) {
        known = hint;
      } else if (++misses < 16) known = findServer(page, sandbox, this.id);
      else {
        byId ??= indexServers(page, begin, count);
        known = byId.get(server.serverId) ?? -1;
      }
      if (known < 0) this.writeNew(server);
      else {
        found[known - begin] = 1;
        hint = known + 1;
        this.writeKnown(server, page, pageIndex, known);
      }
    }
    for (let index = 0; index < count; index++) {
      if (found[index]) continue;
      this.leftOut++;
      this.sequence.draft.setMark(null);
      this.writeMissing(page, pageIndex, begin + index);
      if (!this.complete) {
        const { sandboxId } = listed;
        this.unlisted.add(serverKey({ sandboxId, serverId: page.serverId(begin + index) }));
      }
    }
  }

  private writeNew(server: ListedServer): void {
    this.touched.add(this.sequence.pages.length, this.sequence.draft.serverCount, null, 0);
    this.sequence.draft.addServer(server, null);
    this.tally.countServer(server.serverName, server.status, 0, 1);
  }

  private writeKnown(server: ListedServer, page: Page, pageIndex: number, known: number): void {
    const { draft } = this.sequence;
    const flags = page.serverFlags(known);
    const isSameStatus = statusIn(flags) === server.status;
    const isAlike = isOfKind(page.serverKind(known), server);
    if (isAlike && isSameStatus && missingIn(flags) === 0) {
      draft.copyServer(page, known, 0);
      return;
    }
    this.touched.add(this.sequence.pages.length, draft.serverCount, pageIndex, known);
    if (isAlike) draft.copyServer(page, known, 0, server.status);
    else draft.addServer(server, isSameStatus ? sinceOf(page, known) : null);
    this.tally.countServer(page.serverName(known), statusIn(flags), missingIn(flags), -1);
    this.tally.countServer(server.serverName, server.status, 0, 1);
  }

  private writeMissing(page: Page, pageIndex: number, server: number, gone = false): void {
    const flags = page.serverFlags(server);
    const before = missingIn(flags);
    if (!this.complete) {
      this.sequence.draft.copyServer(page, server, before);
      return;
    }
    const name = page.serverName(server);
    this.tally.countServer(name, statusIn(flags), before, -1);
    if (gone || before + 1 >= this.goneAfter) this.removed.add(pageIndex, server, null, 0);
    else {
      if (before === 0) this.lacked.add(pageIndex, server, null, 0);
      this.sequence.draft.copyServer(page, server, before + 1);
      this.tally.countServer(name, statusIn(flags), before + 1, 1);
    }
  }
}

/** But for its id and status. */
function isAlikeServer(page: Page, known: number, server: ListedServer): boolean {
  return missingIn(page.serverFlags(known)) === 0 && isOfKind(page.serverKind(known), server);
}

function sinceOf(page: Page, server: number): Since {
  return {
    sinceMs: page.sinceMs(server),
    sinceObservedMs: page.sinceObservedMs(server),
    sinceWitnessed: page.isWitnessed(server),
  };
}

function indexServers(page: Page, begin: number, count: number): ReadonlyMap<string, number> {
  const numbers = Array.from({ length: count }, (_, index) => begin + index);
  return new Map(numbers.map((server) => [page.serverId(server), server]));
}
