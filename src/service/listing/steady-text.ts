import { Buffer } from "node:buffer";
import type { Status } from "../../core/model.ts";
import { backslash, colon, quote, skipSpace } from "../json-bytes.ts";

/** Of a server: when it was last updated. It is not kept, and may be another one at each poll. */
const timeName = Buffer.from('"updated_at"');
const statusName = Buffer.from('"status"');
/** By which they are told apart: the last character. */
const lastOfTime = 0x74;
const lastOfStatus = 0x73;
/** Those that are known; their first bytes differ. */
const byFirstByte: (KnownStatus | undefined)[] = Array.from({ length: 256 });
for (const status of ["idle", "occupied", "error"] as const) {
  const text = Buffer.from(`${status}"`);
  byFirstByte[text[0] ?? 0] = { status, text };
}

interface KnownStatus {
  readonly status: Status;
  /** Up to the closing quote. */
  readonly text: Uint8Array;
}

/** What stands for a status: its number in the text. None of them is shorter than that. */
export const digitsOfStatus = 4;
const mostStatuses = 10 ** digitsOfStatus;

/** As long as the shortest name: what is looked at is the end of one. */
const shortest = statusName.length;
/** By the byte that stands where a name's last one would: how far on a name can end at the earliest. */
const steps = new Uint8Array(256).fill(shortest);
for (const name of [timeName, statusName]) {
  for (const [at, byte] of name.subarray(-shortest, -1).entries()) {
    steps[byte] = Math.min(steps[byte] ?? 0, shortest - 1 - at);
  }
}
steps[quote] = shortest - 1;

const zero = 0x30;
const nine = 0x39;

/** By byte: 1 for a character that stands for itself in a string, and is one byte. */
const isPlain = new Uint8Array(256).fill(1, 0x20, 0x7f);
isPlain[quote] = isPlain[backslash] = 0;

/** So many leaps are learnt: what is behind them in a text is searched whole. */
const mostLeaps = 1_024;

/**
 * Makes texts alike that differ in times of updates and in statuses alone. In the steady form of a text
 * each time is as many zeros, and each status that is a known one is its number in the text.
 *
 * Where one of two texts with the same form is JSON, the other one is too, and they say the same but
 * for these times and statuses, each in its place. For a form is made from the left: after as much as is
 * the same, both texts show the same name in the same place. What follows it is replaced in both or in
 * neither, since no form is made of a text in which something else could be taken for a status's number.
 * And in JSON a name between quotes, with no backslash before it and a colon behind it, is that of a field:
 * what is replaced is the inside of the string that is its value.
 *
 * A guess searches less of a text: of what is behind each replaced value it leaps over as much as was
 * there in every text before, and so can leap over a name. Where it comes to the form of a JSON text that
 * was searched whole, with as many statuses in it, it is what a whole search would come to. For what it
 * replaced is the value of a field in the form too, and each status in the form has a number. As many
 * fields have one as the guess gave: so it leapt over no status, neither over a known one, which no form
 * shows, nor over one that reads like a number. A time that it leapt over is zeros already.
 */
export class SteadyText {
  /** The statuses in the text that was made steady last, in its order. */
  readonly statuses: Status[] = [];
  /** Whether nothing was learnt from the text that was searched whole last. */
  private mayLeap = false;
  private statusCount = 0;
  private room = Buffer.alloc(0);
  private text: Buffer = this.room;
  /** By how much the form is shorter than the text so far. */
  private surplus = 0;
  /** Up to where the text is in its place in the form: what is behind that stands as in the text. */
  private placed = 0;
  /** By the number of values replaced before: how far behind the last one a name ended at the least. */
  private readonly leaps: number[] = [];

  /**
   * Makes the form, which holds until the next call. False where nothing is to be replaced, or the text
   * is no plain one.
   */
  make(text: Buffer): boolean {
    this.mayLeap = true;
    return this.replaceAll(text, false);
  }

  /** The same of a text that is likely to be like those before; false also where that is not worth it. */
  guess(text: Buffer): boolean {
    return this.mayLeap && this.replaceAll(text, true);
  }

  get form(): Buffer {
    return this.room.subarray(0, this.text.length - this.surplus);
  }

  /** The form with how many statuses it has behind it, or what they are. */
  formAnd(what: "count" | "statuses"): Buffer {
    const { room, statuses } = this;
    let end = this.text.length - this.surplus;
    if (what === "statuses") {
      for (const status of statuses) room[end++] = status.charCodeAt(0);
    }
    end += digitsOfStatus;
    putDigits(room, end, statuses.length);
    return room.subarray(0, end);
  }

  private replaceAll(text: Buffer, isGuess: boolean): boolean {
    if (this.room.length < text.length * 2) this.room = Buffer.alloc(text.length * 4);
    text.copy(this.room);
    this.text = text;
    this.surplus = this.placed = this.statusCount = 0;
    let replaced = 0;
    let from = 0;
    let last = this.firstLook(from, replaced, isGuess);
    // Horspool's search: that of buffers begins anew at each quote, and JSON is full of them.
    while (last < text.length) {
      const at = last;
      const byte = text[at] ?? 0;
      last += steps[byte] ?? 1;
      if (byte !== quote) continue;
      const name = nameThatEnds(text, at);
      const start = name ? startOfString(text, at + 1) : -1;
      if (start < 0) continue;
      const end = name === timeName ? this.replaceTime(start) : this.replaceStatus(start);
      if (end === null) return false;
      if (end === start) continue;
      if (!isGuess) this.learn(replaced, at - from);
      from = end;
      replaced++;
      last = this.firstLook(from, replaced, isGuess);
    }
    this.place(text.length);
    // Most have as many as the one before: an array that is cut to nothing grows anew.
    if (this.statuses.length > this.statusCount) this.statuses.length = this.statusCount;
    return replaced > 0;
  }

  /** Where the next name can end at the earliest. */
  private firstLook(from: number, replaced: number, isGuess: boolean): number {
    return from + (isGuess ? (this.leaps[replaced] ?? shortest) : shortest);
  }

  private learn(replaced: number, leap: number): void {
    if (replaced >= mostLeaps || leap >= (this.leaps[replaced] ?? Infinity)) return;
    this.leaps[replaced] = leap;
    this.mayLeap = false;
  }

  /** Where the string's closing quote stands; null where it has none, or anything but plain characters. */
  private replaceTime(start: number): number | null {
    const { text, room } = this;
    let at = start;
    while (isPlain[text[at] ?? 0]) room[at++] = zero;
    return text[at] === quote ? at : null;
  }

  /** The same; `start` for another status than those that are known: it stays. */
  private replaceStatus(start: number): number | null {
    const { text, room, statuses } = this;
    const status = statusAt(text, start);
    if (!status) return mayBeDigit(text[start]) ? null : start;
    if (this.statusCount === mostStatuses) return null;
    this.place(start);
    const end = start + status.length;
    putDigits(room, start - this.surplus + digitsOfStatus, this.statusCount);
    statuses[this.statusCount++] = status;
    this.surplus += status.length - digitsOfStatus;
    this.placed = end;
    return end;
  }

  /** Each byte is moved once, however many statuses are before it. */
  private place(end: number): void {
    const { room, surplus, placed } = this;
    if (surplus > 0) room.copyWithin(placed - surplus, placed, end);
    this.placed = end;
  }
}

function putDigits(bytes: Uint8Array, end: number, number: number): void {
  let rest = number;
  for (let at = end - 1; at >= end - digitsOfStatus; at--) {
    bytes[at] = zero + (rest % 10);
    // Far quicker than to round.
    rest = (rest / 10) | 0;
  }
}

function statusAt(bytes: Uint8Array, start: number): Status | null {
  const known = byFirstByte[bytes[start] ?? 0];
  return known && startsWith(bytes, start, known.text) ? known.status : null;
}

/** The one whose closing quote stands there. */
function nameThatEnds(bytes: Uint8Array, at: number): Uint8Array | null {
  const last = bytes[at - 1];
  if (last !== lastOfTime && last !== lastOfStatus) return null;
  const name = last === lastOfTime ? timeName : statusName;
  const start = at + 1 - name.length;
  return start > 0 && startsWith(bytes, start, name) && bytes[start - 1] !== backslash
    ? name
    : null;
}

function startsWith(bytes: Uint8Array, start: number, part: Uint8Array): boolean {
  for (let at = 0; at < part.length; at++) if (bytes[start + at] !== part[at]) return false;
  return true;
}

/** Behind the opening quote of the string that a name has as its value; -1 where it has none. */
function startOfString(bytes: Uint8Array, nameEnd: number): number {
  const separator = skipSpace(bytes, nameEnd);
  if (bytes[separator] !== colon) return -1;
  const start = skipSpace(bytes, separator + 1);
  return bytes[start] === quote ? start + 1 : -1;
}

/** Behind a backslash each character can be meant. */
function mayBeDigit(byte: number | undefined): boolean {
  return byte !== undefined && ((byte >= zero && byte <= nine) || byte === backslash);
}
