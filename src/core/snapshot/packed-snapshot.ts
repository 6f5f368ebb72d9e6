import { atOnce, eachInSteps } from "../in-steps.ts";
import type { InSteps } from "../in-steps.ts";
import type { BodyMark } from "../listing-intake.ts";
import { isIdAt, seekId } from "./id-table.ts";
import type { SoughtId } from "./id-table.ts";
import { PageRoom } from "./page-room.ts";
import { sandboxWords } from "./page-records.ts";
import type { Page } from "./page.ts";
import type { ServerRow, Snapshot } from "./snapshot.ts";
import { SandboxTable } from "./sandbox-table.ts";
import { createTallies } from "./tallies.ts";
import type { Tallies } from "./tallies.ts";

/** A sandbox among the pages. */
export interface SandboxPlace {
  readonly page: Page;
  readonly pageIndex: number;
  readonly sandbox: number;
}

/** What the next listing is compared with, and goes on from. */
export interface PackedSnapshot extends Snapshot {
  readonly tally: Tallies;
  readonly sandboxCount: number;
  /** How many sandboxes are in the pages before each one, and last in all. */
  readonly pageStarts: Uint32Array;
  readonly nextPageId: number;
  /** Where the next snapshot's pages go; null as long as there is none. */
  readonly room: PageRoom | null;
  /** Where a listing that comes in it again shows just this; null where none is known to. */
  readonly body: BodyMark | null;
  /** Of all pages. */
  readonly wordCount: number;
  /** The place of a sandbox counted over all pages, or -1. */
  ordinalOf(id: SoughtId): number;
  placeOf(ordinal: number): SandboxPlace;
  readonly index: SandboxIndex;
  /**
   * Gives its pages the room that they share with earlier versions: it is read faster from then on. Between
   * two steps it reads the same.
   */
  settle(): InSteps<void>;
  /**
   * After the next one took its place: frees what of its pages is in no later one's, unless somebody holds
   * a snapshot of the target. Then that is garbage once nobody has it.
   */
  giveUp(): InSteps<void>;
}

/** Made when it is first needed, and handed on for as long as no sandbox comes, goes or moves. */
export interface SandboxIndex {
  table: SandboxTable | null;
}

export interface SnapshotParts {
  readonly pages: readonly Page[];
  readonly tally: Tallies;
  readonly nextPageId: number;
  readonly room: PageRoom | null;
  readonly index: SandboxIndex;
  readonly body: BodyMark | null;
}

/** Pages whose spares are freed, or which get the room, in about a millisecond. */
const givenUpAtOnce = 1_024;
const settledAtOnce = 256;

export const emptySnapshot: PackedSnapshot = createPackedSnapshot({
  pages: [],
  tally: createTallies(),
  nextPageId: 1,
  room: null,
  index: { table: null },
  body: null,
});

/** The one before itself where nothing differs, as most often nothing does. */
export function nextSnapshot(before: PackedSnapshot, parts: SnapshotParts): PackedSnapshot {
  const isSame =
    isAlike(before.pages, parts.pages) &&
    before.tally === parts.tally &&
    before.nextPageId === parts.nextPageId &&
    before.room === parts.room &&
    before.index === parts.index &&
    isSameBody(before.body, parts.body);
  return isSame ? before : createPackedSnapshot(parts);
}

function isSameBody(one: BodyMark | null, other: BodyMark | null): boolean {
  return one === other || (one?.length === other?.length && one?.hash === other?.hash);
}

function isAlike(some: readonly unknown[], others: readonly unknown[]): boolean {
  return some.length === others.length && some.every((each, at) => each === others[at]);
}

export function createPackedSnapshot(parts: SnapshotParts): PackedSnapshot {
  const { pages, tally, index } = parts;
  const { holds } = parts.room ?? new PageRoom();
  const pageStarts = new Uint32Array(pages.length + 1);
  let wordCount = 0;
  for (const [at, page] of pages.entries()) {
    wordCount += page.held.length;
    pageStarts[at + 1] = (pageStarts[at] ?? 0) + page.sandboxCount;
  }

  const ordinalOf = (id: SoughtId): number => {
    index.table ??= atOnce(SandboxTable.of(pages));
    return index.table.find(id, (ordinal) => {
      const { page, sandbox } = placeOf(ordinal);
      return isIdAt(page, sandbox * sandboxWords, page.sandboxFlags(sandbox), id);
    });
  };
  const placeOf = (ordinal: number): SandboxPlace => {
    let low = 0;
    let high = pages.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((pageStarts[middle] ?? 0) <= ordinal) low = middle;
      else high = middle - 1;
    }
    const page = pages[low];
    if (!page) throw new RangeError("an ordinal must be of a sandbox of the snapshot");
    return { page, pageIndex: low, sandbox: ordinal - (pageStarts[low] ?? 0) };
  };
  const find = (sandboxId: string): SandboxPlace | null => {
    const ordinal = ordinalOf(seekId(sandboxId));
    return ordinal < 0 ? null : placeOf(ordinal);
  };

  return {
    ...parts,
    *settle() {
      yield* eachInSteps(pages, settledAtOnce, ({ held }) => held.settle());
    },
    hold: () => holds.begin(),
    *giveUp() {
      if (!holds.isEmpty) return;
      yield* eachInSteps(pages, givenUpAtOnce, ({ held }) => held.giveUp());
    },
    pageStarts,
    wordCount,
    sandboxCount: pageStarts[pages.length] ?? 0,
    ordinalOf,
    placeOf,
    serverCount: tally.serverCount,
    sandboxTally: tally.sandboxes,
    tallies: () => tally.names.values(),
    talliesByName: tally.names,
    aggregateName: (name) => tally.aggregateName(name),
    sandbox(sandboxId) {
      const place = find(sandboxId);
      return place?.page.sandboxRow(place.sandbox);
    },
    server(sandboxId, serverId) {
      const place = find(sandboxId);
      if (!place) return undefined;
      const server = findServer(place.page, place.sandbox, seekId(serverId));
      return server < 0 ? undefined : place.page.serverRow(server, sandboxId);
    },
    *serversOf(sandboxId) {
      const place = find(sandboxId);
      if (place) yield* serversIn(place.page, place.sandbox);
    },
    *sandboxes() {
      for (const page of pages) {
        for (let sandbox = 0; sandbox < page.sandboxCount; sandbox++) {
          yield page.sandboxRow(sandbox);
        }
      }
    },
    *servers() {
      for (const page of pages) {
        for (let sandbox = 0; sandbox < page.sandboxCount; sandbox++) {
          yield* serversIn(page, sandbox);
        }
      }
    },
  };
}

/** The server of a sandbox with this id, or -1. */
export function findServer(page: Page, sandbox: number, id: SoughtId): number {
  const end = page.serversEnd(sandbox);
  for (let server = page.serversBegin(sandbox); server < end; server++) {
    if (isIdAt(page, page.serverAt(server), page.serverFlags(server), id)) return server;
  }
  return -1;
}

/** The sandbox of a page with this id, or -1. */
export function findSandbox(page: Page, id: SoughtId): number {
  for (let sandbox = 0; sandbox < page.sandboxCount; sandbox++) {
    if (isIdAt(page, sandbox * sandboxWords, page.sandboxFlags(sandbox), id)) return sandbox;
  }
  return -1;
}

function* serversIn(page: Page, sandbox: number): Iterable<ServerRow> {
  const sandboxId = page.sandboxId(sandbox);
  const end = page.serversEnd(sandbox);
  for (let server = page.serversBegin(sandbox); server < end; server++) {
    yield page.serverRow(server, sandboxId);
  }
}
