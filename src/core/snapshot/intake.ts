import type { BodyMark, CameTexts, ListingIntake, TwinCount } from "../listing-intake.ts";
import type { ListedSandbox, ListedServer } from "../model.ts";
import type { TextMark } from "../text-mark.ts";
import type { InSteps } from "../in-steps.ts";
import { worseSandbox, worseServer } from "../worse-of.ts";
import { changesIn } from "./changes.ts";
import { seekId } from "./id-table.ts";
import { ListingPass } from "./listing-pass.ts";
import type { PassOptions } from "./listing-pass.ts";
import { markOf, turns } from "./marks.ts";
import { findSandbox, nextSnapshot } from "./packed-snapshot.ts";
import type { PackedSnapshot } from "./packed-snapshot.ts";
import { PageRoom } from "./page-room.ts";
import { missingIn } from "./page-records.ts";
import type { Page } from "./page.ts";
import { listedServers, sameSighting, touchedIn, untouchedIn } from "./sighting.ts";
import type { Sighting } from "./sighting.ts";
import { serverKey } from "./snapshot.ts";
import type { ServerId } from "./snapshot.ts";
import { SortedSteps } from "./steps.ts";
import type { SightingParts } from "./steps.ts";
import { countByStatus } from "./tallies.ts";
import type { Tallies } from "./tallies.ts";

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
  /**
   * Counts polls: each text is read in one of 1,024, known or not, all those of a known body in the same
   * one. Left out: only unknown ones are.
   */
  readonly turn?: number;
}

export function openIntake(before: PackedSnapshot, options: IntakeOptions): SnapshotIntake {
  return new Intake(before, options);
}

class Intake implements SnapshotIntake {
  private readonly before: PackedSnapshot;
  private readonly options: IntakeOptions;
  private readonly room: PageRoom;
  private readonly turn: PassOptions["turn"];
  private begunPass: ListingPass | null = null;
  private body: BodyMark | null = null;
  private isSameBody = false;
  /** By the page that holds the sandbox, then by its id: one table of all of them grows too slowly. */
  private readonly twins = new Map<number, Map<string, Twins>>();

  constructor(before: PackedSnapshot, options: IntakeOptions) {
    this.before = before;
    this.options = options;
    this.room = before.room ?? new PageRoom();
    this.turn = turnOf(before, options);
  }

  get knownBody(): BodyMark | null {
    return this.turn === "of_all" ? null : this.before.body;
  }

  sameBody(): void {
    if (!this.knownBody) throw new RangeError("no body is known");
    this.isSameBody = true;
  }

  cameIn(body: BodyMark): void {
    this.body = body;
  }

  get sandboxCount(): number {
    return this.isSameBody ? this.before.sandboxCount : this.pass.sandboxCount;
  }

  expectedTexts(into: Uint32Array, most: number): number {
    return this.pass.expectedTexts(into, most);
  }

  takeTexts(count: number, texts: CameTexts): void {
    this.pass.takeTexts(count, texts);
  }

  moved(length: number, hash: bigint): TextMark | null {
    return this.pass.moved(length, hash);
  }

  listed(sandbox: ListedSandbox, mark: TextMark | null): TwinCount | null {
    const twinPage = this.pass.listed(sandbox, mark);
    return twinPage === null ? null : this.joinTwin(sandbox, twinPage);
  }

  restart(): void {
    // A body can begin its list anew very often, and a pass is not made for nothing.
    if (this.pass.sandboxCount === 0) return;
    this.begunPass = null;
    this.twins.clear();
  }

  *finish(options: SightingOptions): InSteps<Sighting> {
    if (this.isSameBody) return sameSighting(this.before);
    const { complete, atMs, observedMs, witnessed } = options;
    if (this.twins.size > 0 || (!complete && this.pass.writer.leftOut > 0)) {
      this.begunPass = yield* this.passAgain(complete);
    } else if (!complete) this.pass.becomePartial();
    const { pass, room } = this;
    const { sequence, writer } = pass;
    const listedCount = pass.sandboxCount;
    yield* pass.endUnlisted();
    yield* room.gather(sequence.pages);
    yield* pass.indexIds();
    const pages = { before: this.before.pages, after: sequence.pages };
    const { touched, removed, lacked } = writer;
    const began = { sinceMs: atMs, sinceObservedMs: observedMs, sinceWitnessed: witnessed };
    const sorted = yield* SortedSteps.of(touched, pages, began);
    const parts = { ...pages, touched, sorted, removed, lacked, observedMs, witnessed };
    const body = complete && this.twins.size === 0 ? this.body : null;
    return sightingOf(this.before, parts, pass, { listedCount, room, body });
  }

  /** Begun when it is first needed: of a known body there is nothing to pass over. */
  private get pass(): ListingPass {
    return (this.begunPass ??= this.startPass(true));
  }

  private startPass(complete: boolean): ListingPass {
    const { room, turn } = this;
    const { goneAfter } = this.options;
    return new ListingPass(this.before, { goneAfter, complete, turn, room });
  }

  private joinTwin(sandbox: ListedSandbox, pageIndex: number): TwinCount {
    const known = this.twinsOf(sandbox.sandboxId, pageIndex);
    known.itself = worseSandbox<Twins["itself"]>(known.itself, sandbox);
    let servers = 0;
    for (const server of sandbox.servers) {
      const twin = known.servers.get(server.serverId);
      if (twin) servers++;
      known.servers.set(server.serverId, twin ? worseServer(twin, server) : server);
    }
    return { servers, together: known.servers.size };
  }

  private twinsOf(sandboxId: string, pageIndex: number): Twins {
    const inPage = this.twins.get(pageIndex) ?? new Map<string, Twins>();
    const known = inPage.get(sandboxId);
    if (known) return known;
    const page = this.pass.pageSoFar(pageIndex);
    const { servers, ...itself } = listedIn(page, findSandbox(page, seekId(sandboxId)));
    const begun = { itself, servers: new Map(servers.map((server) => [server.serverId, server])) };
    this.twins.set(pageIndex, inPage.set(sandboxId, begun));
    return begun;
  }

  /** The same listing once more, knowing now what only its end could tell. */
  private *passAgain(complete: boolean): InSteps<ListingPass> {
    const { pass, twins } = this;
    pass.endListed();
    const again = this.startPass(complete);
    for (const [pageIndex, page] of pass.sequence.pages.entries()) {
      const inPage = twins.get(pageIndex);
      for (let sandbox = 0; sandbox < page.sandboxCount; sandbox++) {
        const twin = inPage?.get(page.sandboxId(sandbox));
        if (twin) again.listed({ ...twin.itself, servers: [...twin.servers.values()] }, null);
        else again.listed(listedIn(page, sandbox), markOf(page, sandbox));
      }
      yield;
    }
    return again;
  }
}

interface TakenParts {
  readonly listedCount: number;
  readonly room: PageRoom;
  readonly body: BodyMark | null;
}

/** A known body is read in one of so many polls, too. */
function turnOf({ body }: PackedSnapshot, { turn }: IntakeOptions): PassOptions["turn"] {
  if (turn === undefined || !body) return turn ?? null;
  return turn % turns === 0 ? "of_all" : null;
}

/** Whether none of the servers is missing. */
function showsAll({ names }: Tallies): boolean {
  return names
    .values()
    .every(({ servers, listed }) => countByStatus(servers) === countByStatus(listed));
}

function sightingOf(
  before: PackedSnapshot,
  parts: SightingParts,
  { sequence, writer, index }: ListingPass,
  { listedCount, room, body }: TakenParts,
): Sighting {
  const sandboxCount = sequence.pages.reduce((sum, page) => sum + page.sandboxCount, 0);
  const isAllListed = listedCount === sandboxCount;
  const isWhole = isAllListed && writer.unlisted.size === 0 && showsAll(writer.counts);
  const snapshot = nextSnapshot(before, {
    pages: sequence.pages,
    tally: writer.counts,
    nextPageId: sequence.nextPageId,
    room,
    index,
    // Of what the listing lacked, the same one once more would tell more: that it is gone.
    body: isWhole ? body : null,
  });
  const isUnlisted = (id: ServerId): boolean =>
    writer.unlisted.size > 0 && writer.unlisted.has(serverKey(id));
  return {
    snapshot,
    changes: changesIn(parts),
    untouched: (servers) => (isWhole ? untouchedIn(parts, servers) : null),
    touched: (statuses) => touchedIn(parts, statuses),
    *listed(statuses) {
      for (const servers of listedServers(snapshot, listedCount, statuses)) {
        yield writer.unlisted.size === 0 ? servers : servers.filter((each) => !isUnlisted(each));
      }
    },
    listedServer(id) {
      if (isUnlisted(id)) return null;
      if (!isAllListed && snapshot.ordinalOf(seekId(id.sandboxId)) >= listedCount) return null;
      const server = snapshot.server(id.sandboxId, id.serverId);
      return server?.missing === 0 ? server : null;
    },
    isRemoved: ({ sandboxId, serverId }) =>
      writer.removed.length > 0 && snapshot.server(sandboxId, serverId) === undefined,
  };
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
