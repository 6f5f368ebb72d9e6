import { statuses } from "../model.ts";
import type { Status } from "../model.ts";
import type { Words } from "./page-room.ts";

/**
 * A run of sandboxes with their servers, packed into words that never change: records of sandboxes,
 * then records of servers, those of one sandbox side by side. A number of a text or of a kind counts in
 * the page's legend, where the text 0 stands for null.
 *
 * | words | of a sandbox | words | of a server |
 * | --- | --- | --- | --- |
 * | 0-3 | id: a UUID, or the number of a text | 0-3 | id: a UUID, or the number of a text |
 * | 4 | benchmark, a text | 4 | since when, UTC milliseconds: the lower 32 bits |
 * | 5 | flags | 5 | the same on the observed clock: the lower 32 bits |
 * | | | 6 | bits 0-23: its kind; 24-31: the upper bits of word 5's number |
 * | | | 7 | flags |
 *
 * Flags are bits of one word: 0-1 the status, 2 whether it began between two complete polls, 3 whether
 * the id is a text; 4-15 of a sandbox its first server, of a server the upper bits of word 4's number;
 * 16-31 how often it was missing. So moments are whole milliseconds, up to the year 2527, and up to 34
 * years of the observed clock.
 */
export const sandboxWords = 6;
export const serverWords = 8;

export const sandboxField = { benchmark: 4, flags: 5 } as const;
export const serverField = { since: 4, sinceObserved: 5, kind: 6, flags: 7 } as const;
/** Those that say since when a server has its status, and which one that is. */
export const sinceFields = Object.values(serverField);

export const statusMask = 0b11;
const witnessedBit = 0b100;
const textIdBit = 0b1000;
const middleShift = 4;
const middleMask = 0xfff0;
const missingShift = 16;
/** One that is missing for longer is counted as missing this often. */
export const maxMissing = 0xffff;
/** A page is full long before, so its last sandbox begins before. */
const maxFirstServer = middleMask >> middleShift;

const kindMask = 0xff_ffff;
const kindBits = 24;
/** Of each of `sinceFields` the bits that say since when a server has its status. */
export const sinceMasks = {
  since: 0xffff_ffff,
  sinceObserved: 0xffff_ffff,
  kind: ~kindMask >>> 0,
  flags: middleMask | witnessedBit,
} as const;

const wordRange = 2 ** 32;
const lastSinceMs = 2 ** 44 - 1;
const lastObservedMs = 2 ** 40 - 1;

export function flagsOf(row: {
  readonly status: Status;
  readonly sinceWitnessed: boolean;
  readonly textId: boolean;
  readonly missing: number;
}): number {
  return (
    (statusNumber(row.status) |
      (row.sinceWitnessed ? witnessedBit : 0) |
      (row.textId ? textIdBit : 0) |
      (Math.min(row.missing, maxMissing) << missingShift)) >>>
    0
  );
}

/** When a status began. */
export interface Since {
  /** UTC milliseconds. */
  readonly sinceMs: number;
  readonly sinceObservedMs: number;
  readonly sinceWitnessed: boolean;
}

/** The same as a server's record has it: of each field the bits that `sinceMasks` tells. */
export interface PackedSince {
  readonly since: number;
  readonly sinceObserved: number;
  readonly kind: number;
  readonly flags: number;
}

/** A moment is never put later than it was, or a stay could be counted as less than nothing. */
export function packSince({ sinceMs, sinceObservedMs, sinceWitnessed }: Since): PackedSince {
  const wholeMs = within(sinceMs, lastSinceMs);
  const observedMs = within(sinceObservedMs, lastObservedMs);
  return {
    since: wholeMs % wordRange,
    sinceObserved: observedMs % wordRange,
    kind: (Math.floor(observedMs / wordRange) << kindBits) >>> 0,
    flags: (Math.floor(wholeMs / wordRange) << middleShift) | (sinceWitnessed ? witnessedBit : 0),
  };
}

export function packedSinceIn(words: Words, at: number): PackedSince {
  return {
    since: words[at + serverField.since] ?? 0,
    sinceObserved: words[at + serverField.sinceObserved] ?? 0,
    kind: ((words[at + serverField.kind] ?? 0) & sinceMasks.kind) >>> 0,
    flags: (words[at + serverField.flags] ?? 0) & sinceMasks.flags,
  };
}

/** Into a server's record, beside what else its words hold. */
export function putSince(words: Words, at: number, packed: PackedSince): void {
  const kindAt = at + serverField.kind;
  const flagsAt = at + serverField.flags;
  words[at + serverField.since] = packed.since;
  words[at + serverField.sinceObserved] = packed.sinceObserved;
  words[kindAt] = ((words[kindAt] ?? 0) & ~sinceMasks.kind) | packed.kind;
  words[flagsAt] = ((words[flagsAt] ?? 0) & ~sinceMasks.flags) | packed.flags;
}

function within(ms: number, last: number): number {
  return Math.min(Math.max(Math.floor(ms), 0), last);
}

/** UTC milliseconds. */
export function sinceMsIn(since: number, flags: number): number {
  return ((flags & middleMask) >>> middleShift) * wordRange + since;
}

/** Milliseconds of the observed clock. */
export function sinceObservedMsIn(sinceObserved: number, kind: number): number {
  return (kind >>> kindBits) * wordRange + sinceObserved;
}

/** Whether the status began between two complete polls. */
export function isWitnessedIn(flags: number): boolean {
  return (flags & witnessedBit) !== 0;
}

/** The number of a server's kind, in the word that holds it. */
export function kindIn(word: number): number {
  return word & kindMask;
}

export function withKind(word: number, kind: number): number {
  return ((word & ~kindMask) | kind) >>> 0;
}

export function statusIn(flags: number): Status {
  return statusOf(flags & statusMask);
}

/** @param number counts in `statuses` */
export function statusOf(number: number): Status {
  return statuses[number] ?? "unknown";
}

/** Counts in `statuses`. */
export function statusNumber(status: Status): number {
  return statuses.indexOf(status);
}

/** Counts in `statuses`. */
export function statusNumberIn(flags: number): number {
  return flags & statusMask;
}

export function missingIn(flags: number): number {
  return flags >>> missingShift;
}

/** @param status counts in `statuses` */
export function withStatus(flags: number, status: number): number {
  return ((flags & ~statusMask) | status) >>> 0;
}

/**
 * @param flagsAt where the flags of a sandbox or a server are
 * @param status counts in `statuses`
 */
export function setStatus(words: Uint32Array, flagsAt: number, status: number): void {
  words[flagsAt] = withStatus(words[flagsAt] ?? 0, status);
}

export function withMissing(flags: number, missing: number): number {
  return ((flags & 0xffff) | (Math.min(missing, maxMissing) << missingShift)) >>> 0;
}

export function hasTextId(flags: number): boolean {
  return (flags & textIdBit) !== 0;
}

export function firstServerIn(sandboxFlags: number): number {
  return (sandboxFlags & middleMask) >>> middleShift;
}

export function withFirstServer(sandboxFlags: number, server: number): number {
  if (server > maxFirstServer)
    throw new RangeError("a page must end before it has so many servers");
  return ((sandboxFlags & ~middleMask) | (server << middleShift)) >>> 0;
}
