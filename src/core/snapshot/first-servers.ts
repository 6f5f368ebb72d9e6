import type { InSteps } from "../in-steps.ts";
import { wordsPerId } from "./packed-id.ts";
import { hasTextId, sandboxWords } from "./page-records.ts";
import type { Page } from "./page.ts";
import { seekId } from "./id-table.ts";
import type { SoughtId } from "./id-table.ts";
import type { ServerId, ServerRow } from "./snapshot.ts";

export interface ServerSelection {
  /** Only servers that follow this one; null: from the first one on. */
  readonly after: ServerId | null;
  readonly limit: number;
  /** Asked about places in a page, for most servers: what it unpacks costs time. */
  readonly isWanted: (page: Page, sandbox: number, server: number) => boolean;
}

/** A few thousand servers. */
const pagesAtOnce = 16;

/**
 * The first servers in the order of their sandboxes' ids and then their own, as texts: listings have
 * orders of their own, which change, and so where a list goes on cannot be told by them. It takes one
 * pass over the pages, in short steps, and memory for twice as many servers as it gives.
 */
export function* firstServers(
  pages: readonly Page[],
  { after, limit, isWanted }: ServerSelection,
): InSteps<readonly ServerRow[]> {
  const begin = after && seekPlace(after);
  let end: SoughtPlace | null = null;
  let found: ServerRow[] = [];
  for (const [index, page] of pages.entries()) {
    takeServers(page, { begin, end, isWanted }, found);
    // A page holds few enough servers to look only now whether there are too many.
    if (found.length >= limit * 2) {
      found = found.toSorted(compareRows).slice(0, limit);
      const last = found.at(-1);
      end = last ? seekPlace(last) : null;
    }
    if (index % pagesAtOnce === pagesAtOnce - 1) yield;
  }
  return found.toSorted(compareRows).slice(0, limit);
}

interface Range extends Pick<ServerSelection, "isWanted"> {
  /** Exclusive; null: from the first one on. */
  readonly begin: SoughtPlace | null;
  /** Inclusive; null: to the last one. */
  readonly end: SoughtPlace | null;
}

/** Adds what a page has within a range. */
function takeServers(page: Page, { begin, end, isWanted }: Range, found: ServerRow[]): void {
  for (let sandbox = 0; sandbox < page.sandboxCount; sandbox++) {
    const fromEnd = end ? compareSandbox(page, sandbox, end.sandbox) : -1;
    if (fromEnd > 0) continue;
    const fromBegin = begin ? compareSandbox(page, sandbox, begin.sandbox) : 1;
    if (fromBegin < 0) continue;
    const serversEnd = page.serversEnd(sandbox);
    for (let server = page.serversBegin(sandbox); server < serversEnd; server++) {
      if (begin && fromBegin === 0 && compareServer(page, server, begin.server) <= 0) continue;
      if (end && fromEnd === 0 && compareServer(page, server, end.server) > 0) continue;
      if (isWanted(page, sandbox, server)) found.push(page.serverRow(server));
    }
  }
}

interface SoughtPlace {
  readonly sandbox: SoughtId;
  readonly server: SoughtId;
}

function seekPlace({ sandboxId, serverId }: ServerId): SoughtPlace {
  return { sandbox: seekId(sandboxId), server: seekId(serverId) };
}

function compareRows(a: ServerId, b: ServerId): number {
  return compareTexts(a.sandboxId, b.sandboxId) || compareTexts(a.serverId, b.serverId);
}

/** By code units, unlike `localeCompare`: the words of UUIDs are in the same order. */
function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function compareSandbox(page: Page, sandbox: number, id: SoughtId): number {
  return id.isUuid && !hasTextId(page.sandboxFlags(sandbox))
    ? compareWords(page, sandbox * sandboxWords, id.words)
    : compareTexts(page.sandboxId(sandbox), id.text);
}

function compareServer(page: Page, server: number, id: SoughtId): number {
  return id.isUuid && !hasTextId(page.serverFlags(server))
    ? compareWords(page, page.serverAt(server), id.words)
    : compareTexts(page.serverId(server), id.text);
}

function compareWords(page: Page, at: number, words: Uint32Array): number {
  for (let index = 0; index < wordsPerId; index++) {
    const difference = page.word(at + index) - (words[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
