import type { ListingIntake, TextMark } from "../listing-intake.ts";
import type { ListedSandbox, ListedServer, Status } from "../model.ts";
import type { InSteps } from "../in-steps.ts";
import { worseSandbox, worseServer } from "../worse-of.ts";
import { changesIn } from "./changes.ts";
import { seekId } from "./id-table.ts";
import { ListingPass } from "./listing-pass.ts";
import { findSandbox, nextSnapshot } from "./packed-snapshot.ts";
import type { PackedSnapshot } from "./packed-snapshot.ts";
import { PageRoom } from "./page-room.ts";
import { missingIn, statusIn } from "./page.ts";
import type { Page } from "./page.ts";
import { lookedAtOnce, settleChanged, touchedIn } from "./sighting.ts";
import type { Sighting } from "./sighting.ts";
import { serverKey } from "./snapshot.ts";
import type { ServerId, ServerRow } from "./snapshot.ts";
import { sortSteps } from "./steps.ts";
import type { SightingParts } from "./steps.ts";

export interface SightingOptions {
  /** False: what the listing lacks proves nothing. */
  readonly complete: boolean;
  /** When the poll ended. UTC milliseconds. */
  readonly atMs: number;
  /** The target's observed clock at this poll. */
  readonly observedMs: number;
  /** Whether the time since the previous listing was watched: then a change's moment is known. */
  readonly witnessed: boolean;
}

/** Takes a listing in beside the snapshot that it is compared with, which stays as it is. */
export interface SnapshotIntake extends ListingIntake {
  /** Once, after the whole listing, which can lack some 100,000 sandboxes, or hold them twice. */
  finish(options: SightingOptions): InSteps<Sighting>;
}

/** A sandbox that came more than once, joined: of each item the worse one is believed. */
interface Twins {
  itself: Omit<ListedSandbox, "servers">;
  readonly servers: Map<string, ListedServer>;
}

export interface IntakeOptions {
  /** Complete listings without a server before it counts as gone. */
  readonly goneAfter: number;
  /** Counts polls: each text is read in one of 256, known or not. Left out: only unknown ones are. */
  readonly turn?: number;
}

export function openIntake(before: PackedSnapshot, options: IntakeOptions): SnapshotIntake {
  return new Intake(before, options);
}

class Intake implements SnapshotIntake {
  private readonly before: PackedSnapshot;
  private readonly options: IntakeOptions;
  private readonly room: PageRoom;
  private pass: ListingPass;
  private readonly twins = new Map<string, Twins>();

  constructor(before: PackedSnapshot, options: IntakeOptions) {
    this.before = before;
    this.options = options;
    this.room = before.room ?? new PageRoom();
    this.pass = this.startPass(true);
  }

  get sandboxCount(): number {
    return this.pass.sandboxCount;
  }

  expected(): TextMark | null {
    return this.pass.expected();
  }

  same(mark?: TextMark, statuses?: readonly Status[]): void {
    this.pass.same(mark, statuses);
  }

  moved(length: number, hash: bigint): TextMark | null {
    return this.pass.moved(length, hash);
  }

  listed(sandbox: ListedSandbox, mark: TextMark | null): { readonly servers: number } | null {
    const twinPage = this.pass.listed(sandbox, mark);
    return twinPage === null ? null : this.joinTwin(sandbox, twinPage);
  }

  restart(): void {
    // A body can begin its list anew very often, and a pass is not made for nothing.
    if (this.pass.sandboxCount === 0) return;
    this.pass = this.startPass(true);
    this.twins.clear();
  }

  *finish(options: SightingOptions): InSteps<Sighting> {
    const { complete, observedMs, witnessed } = options;
    if (this.twins.size > 0 || (!complete && this.pass.writer.leftOut > 0)) {
      this.pass = yield* this.passAgain(complete);
    } else if (!complete) this.pass.becomePartial();
    const { pass, room } = this;
    const { sequence, writer } = pass;
    const listedCount = pass.sandboxCount;
    yield* pass.endUnlisted();
    yield* room.gather(sequence.pages);
    yield* pass.indexIds();
    const pages = { before: this.before.pages, after: sequence.pages };
    const { touched, removed, lacked } = writer;
    const sorted = yield* sortSteps(pages, touched);
    const parts = { ...pages, touched, sorted, removed, lacked, observedMs, witnessed };
    yield* settleChanged(parts, options.atMs);
    return sightingOf(this.before, parts, pass, { listedCount, room });
  }

  private startPass(complete: boolean): ListingPass {
    const { goneAfter, turn = null } = this.options;
    return new ListingPass(this.before, { goneAfter, complete, turn, room: this.room });
  }

  private joinTwin(sandbox: ListedSandbox, pageIndex: number): { readonly servers: number } {
    const { pass, twins } = this;
    let known = twins.get(sandbox.sandboxId);
    if (!known) {
      const page = pass.pageSoFar(pageIndex);
      const { servers, ...itself } = listedIn(page, findSandbox(page, seekId(sandbox.sandboxId)));
      known = { itself, servers: new Map(servers.map((server) => [server.serverId, server])) };
      twins.set(sandbox.sandboxId, known);
    }
    known.itself = worseSandbox<Twins["itself"]>(known.itself, sandbox);
    let servers = 0;
    for (const server of sandbox.servers) {
      const twin = known.servers.get(server.serverId);
      if (twin) servers++;
      known.servers.set(server.serverId, twin ? worseServer(twin, server) : server);
    }
    return { servers };
  }

  /** The same listing once more, knowing now what only its end could tell. */
  private *passAgain(complete: boolean): InSteps<ListingPass> {
    const { pass, twins } = this;
    pass.endListed();
    const again = this.startPass(complete);
    for (const [index, page] of pass.sequence.pages.entries()) {
      const marks = pass.sequence.marks[index];
      for (let sandbox = 0; sandbox < page.sandboxCount; sandbox++) {
        const twin = twins.size === 0 ? undefined : twins.get(page.sandboxId(sandbox));
        if (twin) again.listed({ ...twin.itself, servers: [...twin.servers.values()] }, null);
        else again.listed(listedIn(page, sandbox), marks?.at(sandbox) ?? null);
      }
      yield;
    }
    return again;
  }
}

function sightingOf(
  before: PackedSnapshot,
  parts: SightingParts,
  { sequence, writer, index }: ListingPass,
  { listedCount, room }: { readonly listedCount: number; readonly room: PageRoom },
): Sighting {
  const snapshot = nextSnapshot(before, {
    pages: sequence.pages,
    marks: sequence.marks,
    tally: writer.counts,
    nextPageId: sequence.nextPageId,
    room,
    index,
  });
  const isUnlisted = (id: ServerId): boolean =>
    writer.unlisted.size > 0 && writer.unlisted.has(serverKey(id));
  return {
    snapshot,
    changes: changesIn(parts),
    touched: (statuses) => touchedIn(parts, statuses),
    *listed(statuses) {
      for (const servers of listedServers(snapshot, listedCount, statuses)) {
        yield writer.unlisted.size === 0 ? servers : servers.filter((each) => !isUnlisted(each));
      }
    },
    listedServer(id) {
      const isAllListed = listedCount === snapshot.sandboxCount;
      if (isUnlisted(id)) return null;
      if (!isAllListed && snapshot.ordinalOf(seekId(id.sandboxId)) >= listedCount) return null;
      const server = snapshot.server(id.sandboxId, id.serverId);
      return server?.missing === 0 ? server : null;
    },
    isRemoved: ({ sandboxId, serverId }) =>
      writer.removed.length > 0 && snapshot.server(sandboxId, serverId) === undefined,
  };
}

/** The sandboxes that were listed come before the others. */
function* listedServers(
  { pages }: PackedSnapshot,
  sandboxCount: number,
  statuses: ReadonlySet<Status>,
): Iterable<readonly ServerRow[]> {
  let left = sandboxCount;
  let servers: ServerRow[] = [];
  let lookedAt = 0;
  for (const page of pages) {
    const sandboxes = Math.min(left, page.sandboxCount);
    left -= sandboxes;
    const end = sandboxes === 0 ? 0 : page.serversEnd(sandboxes - 1);
    for (let server = 0; server < end; server++) {
      const flags = page.serverFlags(server);
      if (missingIn(flags) === 0 && statuses.has(statusIn(flags))) {
        servers.push(page.serverRow(server));
      }
    }
    lookedAt += end;
    if (lookedAt < lookedAtOnce) continue;
    yield servers;
    servers = [];
    lookedAt = 0;
  }
  yield servers;
}

/** What a listing said of a sandbox that was written from it. */
function listedIn(page: Page, sandbox: number): ListedSandbox {
  const { sandboxId, status, benchmark } = page.sandboxRow(sandbox);
  const servers: ListedServer[] = [];
  const end = page.serversEnd(sandbox);
  for (let server = page.serversBegin(sandbox); server < end; server++) {
    if (missingIn(page.serverFlags(server)) > 0) continue;
    const {
      serverId,
      serverName,
      status: serverStatus,
      benchmark: serverBenchmark,
      tags,
    } = page.serverRow(server, sandboxId);
    servers.push({ serverId, serverName, status: serverStatus, benchmark: serverBenchmark, tags });
  }
  return { sandboxId, status, benchmark, servers };
}
