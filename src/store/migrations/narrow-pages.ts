import type { DatabaseSync } from "node:sqlite";
import { applyEdits } from "../page-edits.ts";
import { readNames } from "../target-rows.ts";
import { wideSandbox, wideServer } from "./wide-pages.ts";
import type { WidePage } from "./wide-pages.ts";

/** The records that this version brought: words of each, and where in them its facts are. */
const sandboxAt = { words: 6, benchmark: 4, flags: 5 } as const;
const serverAt = { words: 8, since: 4, sinceObserved: 5, kind: 6, flags: 7 } as const;

const wordsPerId = 4;
const textIdBit = 0b1000;
/** Bits of the flags which those of earlier pages leave free: they hold what else has no room. */
const middleShift = 4;
const middleRange = 2 ** 12;
const kindRange = 2 ** 24;
const wordRange = 2 ** 32;
const lastSinceMs = 2 ** 44 - 1;
const lastObservedMs = 2 ** 40 - 1;

interface StoredPage extends WidePage {
  readonly id: number;
  readonly lastEdit: number;
}

/**
 * Brings pages into records of two thirds of the size: moments become whole milliseconds, and what
 * servers have in common stands once in the page's legend. Edits become part of their pages, of which
 * those of one target are in memory at a time.
 */
export function narrowPages(database: DatabaseSync): void {
  database.exec("alter table pages rename column texts to legend");
  const update = database.prepare(
    "update pages set records = ?, legend = ? where target_id = ? and page_id = ?",
  );
  for (const row of database.prepare("select id from targets").all()) {
    const targetId = Number(row["id"]);
    const pages = readPages(database, targetId);
    applyAll(database, targetId, pages);
    for (const page of pages) {
      const { words, legend } = narrowPage(page);
      update.run(new Uint8Array(words.buffer), legend, targetId, page.id);
    }
  }
  database.exec("delete from page_edits");
}

function readPages(database: DatabaseSync, targetId: number): readonly StoredPage[] {
  const select = database.prepare("select * from pages where target_id = ?");
  return Array.from(select.iterate(targetId), (row) => ({
    id: Number(row["page_id"]),
    lastEdit: Number(row["last_edit"]),
    sandboxCount: Number(row["sandbox_count"]),
    words: wordsOf(row["records"]),
    texts: readNames(String(row["legend"])),
  }));
}

function applyAll(database: DatabaseSync, targetId: number, pages: readonly StoredPage[]): void {
  const byId = new Map(pages.map((page) => [page.id, page]));
  const select = database.prepare("select * from page_edits where target_id = ? order by id");
  for (const row of select.iterate(targetId)) {
    const edit = Number(row["id"]);
    const isLater = (pageId: number): boolean => (byId.get(pageId)?.lastEdit ?? 0) < edit;
    applyEdits(byId, wordsOf(row["words"]), isLater);
  }
}

function narrowPage(page: WidePage): {
  readonly words: Uint32Array<ArrayBuffer>;
  readonly legend: string;
} {
  const { sandboxCount, words: wide, texts } = page;
  const wideServers = sandboxCount * wideSandbox.words;
  const serverCount = (wide.length - wideServers) / wideServer.words;
  if (!Number.isInteger(serverCount) || serverCount < 0) {
    throw new RangeError("a page of the store is not whole");
  }
  const servers = sandboxCount * sandboxAt.words;
  const words = new Uint32Array(servers + serverCount * serverAt.words);
  const doubles = new Float64Array(wide.buffer);
  const usedTexts = createNumbers<string>([""]);
  const usedKinds = createNumbers<string>([]);
  const at = (index: number): number => wide[index] ?? 0;
  const textAt = (index: number): string | null =>
    at(index) === 0 ? null : (texts[at(index)] ?? null);
  const copyId = (from: number, to: number, flags: number): void => {
    if ((flags & textIdBit) === 0) words.set(wide.subarray(from, from + wordsPerId), to);
    else words[to] = usedTexts.numberOf(textAt(from) ?? "");
  };

  for (let sandbox = 0; sandbox < sandboxCount; sandbox++) {
    const from = sandbox * wideSandbox.words;
    const to = sandbox * sandboxAt.words;
    const flags = at(from + wideSandbox.flags);
    const benchmark = textAt(from + wideSandbox.benchmark);
    const firstServer = at(from + wideSandbox.firstServer);
    if (firstServer >= middleRange) throw new RangeError("a page of the store is too long");
    copyId(from, to, flags);
    words[to + sandboxAt.benchmark] = benchmark === null ? 0 : usedTexts.numberOf(benchmark);
    words[to + sandboxAt.flags] = flags | (firstServer << middleShift);
  }
  for (let server = 0; server < serverCount; server++) {
    const from = wideServers + server * wideServer.words;
    const to = servers + server * serverAt.words;
    const flags = at(from + wideServer.flags);
    const sinceMs = wholeMs(doubles[(from + wideServer.since) / 2], lastSinceMs);
    const observedMs = wholeMs(doubles[(from + wideServer.sinceObserved) / 2], lastObservedMs);
    const kind = [
      textAt(from + wideServer.name),
      textAt(from + wideServer.benchmark),
      readNames(textAt(from + wideServer.tags) ?? "[]"),
    ];
    copyId(from, to, flags);
    words[to + serverAt.since] = sinceMs;
    words[to + serverAt.sinceObserved] = observedMs;
    words[to + serverAt.kind] =
      usedKinds.numberOf(JSON.stringify(kind)) + Math.floor(observedMs / wordRange) * kindRange;
    words[to + serverAt.flags] = flags | (Math.floor(sinceMs / wordRange) << middleShift);
  }
  const legend = `[${JSON.stringify(usedTexts.items)},[${usedKinds.items.join(",")}]]`;
  return { words, legend };
}

function wholeMs(ms: number | undefined, last: number): number {
  return Math.min(Math.max(Math.floor(ms ?? 0), 0), last);
}

/** What is given a number when it comes first, after `items`, which are never found. */
function createNumbers<Item>(items: Item[]) {
  const numbers = new Map<Item, number>();
  return {
    items,
    numberOf(item: Item): number {
      const number = numbers.get(item) ?? items.push(item) - 1;
      numbers.set(item, number);
      return number;
    },
  };
}

function wordsOf(bytes: unknown): Uint32Array<ArrayBuffer> {
  if (!(bytes instanceof Uint8Array)) throw new TypeError("a page of the store has no words");
  return new Uint32Array(new Uint8Array(bytes).buffer);
}
