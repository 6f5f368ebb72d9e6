import * as fc from "fast-check";
import { expect, it } from "vitest";
import { atOnce } from "../../../src/core/in-steps.ts";
import { PageRoom } from "../../../src/core/snapshot/page-room.ts";
import { PageWords } from "../../../src/core/snapshot/page-words.ts";
import { Page } from "../../../src/core/snapshot/page.ts";
import { sandboxWords, serverWords } from "../../../src/core/snapshot/page-records.ts";
import { markWords } from "../../../src/core/text-mark.ts";

const sizes = { block: 1_024, few: 128, many: 512 };

/** A page of a sandbox with so many servers, full of one number. */
function pageOf(room: PageRoom, id: number, servers: number): Page {
  const words = room.take(wordsOf(servers));
  expect(new Set(words)).toEqual(new Set([0]));
  words.fill(id);
  return new Page(id, 1, PageWords.in(words), { texts: [""], kinds: [] });
}

/** Servers of each new page, and which of the earlier ones they take the place of. */
const polls = fc.array(
  fc.array(fc.record({ servers: fc.nat(45), place: fc.nat(30) }), { maxLength: 20 }),
  { minLength: 1, maxLength: 20 },
);

interface WrittenListing {
  readonly room: PageRoom;
  readonly written: readonly Page[];
  readonly all: readonly Page[];
}

/** Holds after each listing whose pages were written, and are yet to be gathered. */
function afterEachListing(check: (listing: WrittenListing) => void): void {
  fc.assert(
    fc.property(polls, (listings) => {
      const room = new PageRoom(sizes);
      const pages = new Map<number, Page>();
      let id = 0;
      for (const listing of listings) {
        room.begin(wordsIn([...pages.values()]));
        const written = listing.map(({ servers, place }) => {
          const page = pageOf(room, ++id, servers);
          pages.set(place, page);
          return page;
        });
        check({ room, written, all: [...pages.values()] });
      }
    }),
  );
}

it("whatever is written and moved, a page keeps its words, and no block is kept for little", () => {
  afterEachListing(({ room, all }) => {
    atOnce(room.gather(all));
    // After one that wrote much, only the next one has room to gather what it left.
    room.begin(wordsIn(all));
    atOnce(room.gather(all));

    for (const page of all) expect(new Set(page.idWords)).toEqual(new Set([page.id]));
    const inBlocks = all.filter((page) => page.idWords.buffer.byteLength === sizes.block * 4);
    const blocks = new Set(inBlocks.map((page) => page.idWords.buffer));
    // Of each but the last: three quarters in use, and less than the longest page left at its end.
    expect((blocks.size - 2) * sizes.block * 0.75).toBeLessThanOrEqual(wordsIn(inBlocks));
  });
});

it("what is written and moved along a listing is never more than all pages, if not written anyway", () => {
  afterEachListing(({ room, written, all }) => {
    const places = new Map(all.map((page) => [page, page.idWords]));
    atOnce(room.gather(all));
    const moved = [...places].filter(([page, words]) => page.idWords !== words);
    const movedWords = wordsIn(moved.map(([page]) => page));
    if (movedWords === 0) return;
    expect(wordsIn(written) + movedWords).toBeLessThanOrEqual(wordsIn(all));
  });
});

it("pages that are written anew again and again fill a block before another one is begun", () => {
  const room = new PageRoom(sizes);
  const blocks = new Set<ArrayBuffer>();
  const rewritings = 100;
  for (let rewriting = 0; rewriting < rewritings; rewriting++) {
    room.begin(sizes.few);
    const page = pageOf(room, 1, 10);
    atOnce(room.gather([page]));
    blocks.add(page.idWords.buffer);
  }
  const pagesOfBlock = Math.floor(sizes.block / wordsOf(10));
  expect(blocks.size).toBe(Math.ceil(rewritings / pagesOfBlock));
});

it("the pages of a small snapshot have a buffer each", () => {
  const room = new PageRoom(sizes);
  const pages = [1, 2, 3].map((id) => pageOf(room, id, 1));
  for (const { idWords } of pages) expect(idWords.buffer.byteLength).toBe(idWords.byteLength);
});

function wordsIn(pages: readonly Page[]): number {
  return pages.reduce((sum, { held }) => sum + held.length, 0);
}

/** Of a page of one sandbox. */
function wordsOf(servers: number): number {
  return sandboxWords + servers * serverWords + markWords;
}
