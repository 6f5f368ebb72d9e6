import {
  packedSinceIn,
  putSince,
  sandboxField,
  sandboxWords,
  serverField,
  serverWords,
  setStatus,
  sinceMasks,
  statusMask,
  statusNumberIn,
} from "../core/snapshot/page-records.ts";
import type { PackedSince } from "../core/snapshot/page-records.ts";
import type { Page } from "../core/snapshot/page.ts";
import type { Words } from "../core/snapshot/page-room.ts";

/** Of a page. */
export type Records = Pick<Page, "sandboxCount" | "words">;

/**
 * A restatement takes a page's records to others where nothing but statuses is different, and where all
 * that servers changed to began at one moment. Of a usual page it has about a
 * seventieth of their length.
 *
 * | words | |
 * | --- | --- |
 * | 0-3 | the moment: of each word of a server's record that says since when, the bits that do |
 * | then, 16 to a word | the statuses of the sandboxes, and of the servers |
 * | then, 32 to a word | of each server whether it has its status since that moment |
 */
interface Layout {
  readonly servers: number;
  /** In the records. */
  readonly serversAt: number;
  /** In the restatement. */
  readonly beganAt: number;
  readonly length: number;
}

const statusesAt = 4;

/** How many words a restatement of such records has. */
export function restatementLength(records: Records): number {
  return layOut(records).length;
}

/**
 * @param before with as many sandboxes and servers as those after
 * @returns null where there is none
 */
export function restatementOf(before: Records, after: Records): Words | null {
  const { words, sandboxCount } = after;
  const { words: wordsBefore } = before;
  const { servers, serversAt, beganAt, length } = layOut({ words, sandboxCount });
  const into = new Uint32Array(length);
  for (let sandbox = 0; sandbox < sandboxCount; sandbox++) {
    const at = sandbox * sandboxWords;
    if (!isAlikeSandbox(wordsBefore, words, at)) return null;
    putStatus(into, sandbox, words[at + sandboxField.flags] ?? 0);
  }
  let moment: PackedSince | null = null;
  for (let server = 0; server < servers; server++) {
    const at = serversAt + server * serverWords;
    if (!isAlikeServer(wordsBefore, words, at)) return null;
    putStatus(into, sandboxCount + server, words[at + serverField.flags] ?? 0);
    if (isSameSince(wordsBefore, words, at)) continue;
    moment ??= packedSinceIn(words, at);
    if (!isSince(moment, words, at)) return null;
    putBit(into, beganAt, server);
  }
  if (moment) into.set([moment.since, moment.sinceObserved, moment.kind, moment.flags]);
  return into;
}

/** @param from has as many words as one of these records has */
export function applyRestatement({ words, sandboxCount }: Records, from: Words): void {
  const { servers, serversAt, beganAt } = layOut({ words, sandboxCount });
  const [since = 0, sinceObserved = 0, kind = 0, flags = 0] = from;
  const moment = { since, sinceObserved, kind, flags };
  for (let sandbox = 0; sandbox < sandboxCount; sandbox++) {
    setStatus(words, sandbox * sandboxWords + sandboxField.flags, statusIn(from, sandbox));
  }
  for (let server = 0; server < servers; server++) {
    const at = serversAt + server * serverWords;
    setStatus(words, at + serverField.flags, statusIn(from, sandboxCount + server));
    if (hasBit(from, beganAt, server)) putSince(words, at, moment);
  }
}

function layOut({ sandboxCount, words }: Records): Layout {
  const serversAt = sandboxCount * sandboxWords;
  const servers = (words.length - serversAt) / serverWords;
  const beganAt = statusesAt + Math.ceil((sandboxCount + servers) / 16);
  return { servers, serversAt, beganAt, length: beganAt + Math.ceil(servers / 32) };
}

/** But for its status. */
function isAlikeSandbox(before: Words, after: Words, at: number): boolean {
  const flags = differing(before, after, at + sandboxField.flags) & ~statusMask;
  const benchmark = differing(before, after, at + sandboxField.benchmark);
  return (differingIds(before, after, at) | benchmark | flags) === 0;
}

/** But for its status and since when it has it. */
function isAlikeServer(before: Words, after: Words, at: number): boolean {
  const kind = differing(before, after, at + serverField.kind) & ~sinceMasks.kind;
  const open = sinceMasks.flags | statusMask;
  const flags = differing(before, after, at + serverField.flags) & ~open;
  return (differingIds(before, after, at) | kind | flags) === 0;
}

function differingIds(before: Words, after: Words, at: number): number {
  return (
    differing(before, after, at) |
    differing(before, after, at + 1) |
    differing(before, after, at + 2) |
    differing(before, after, at + 3)
  );
}

/** The bits of a word. */
function differing(before: Words, after: Words, at: number): number {
  return (before[at] ?? 0) ^ (after[at] ?? 0);
}

function putStatus(into: Words, number: number, flags: number): void {
  const at = statusesAt + (number >>> 4);
  const shift = (number & 15) * 2;
  into[at] = (into[at] ?? 0) | (statusNumberIn(flags) << shift);
}

function statusIn(from: Words, number: number): number {
  const word = from[statusesAt + (number >>> 4)] ?? 0;
  return statusNumberIn(word >>> ((number & 15) * 2));
}

function putBit(into: Words, begin: number, number: number): void {
  const at = begin + (number >>> 5);
  into[at] = (into[at] ?? 0) | (1 << (number & 31));
}

function hasBit(from: Words, begin: number, number: number): boolean {
  const word = from[begin + (number >>> 5)] ?? 0;
  return ((word >>> (number & 31)) & 1) === 1;
}

function isSameSince(before: Words, after: Words, at: number): boolean {
  const since = differing(before, after, at + serverField.since);
  const observed = differing(before, after, at + serverField.sinceObserved);
  const kind = differing(before, after, at + serverField.kind) & sinceMasks.kind;
  const flags = differing(before, after, at + serverField.flags) & sinceMasks.flags;
  return (since | observed | kind | flags) === 0;
}

function isSince(
  { since, sinceObserved, kind, flags }: PackedSince,
  words: Words,
  at: number,
): boolean {
  return (
    words[at + serverField.since] === since &&
    words[at + serverField.sinceObserved] === sinceObserved &&
    ((words[at + serverField.kind] ?? 0) & sinceMasks.kind) >>> 0 === kind &&
    ((words[at + serverField.flags] ?? 0) & sinceMasks.flags) === flags
  );
}
