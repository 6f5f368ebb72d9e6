import { backslash, colon, nine, quote, skipPlain, skipSpace, zero } from "./characters";

// Names between their quotes and the known statuses, as the numbers that a look at several bytes gives.
const statusName: u64 = 0x2273757461747322; // "status"
const timeNameBegin: u64 = 0x6465746164707522; // "updated
const timeNameEnd: u32 = 0x2274615f; // _at"
const idle: u32 = 0x656c6469; // idle
const occupied: u64 = 0x646569707563636f; // occupied
const errorBegin: u32 = 0x6f727265; // erro
const errorEnd: u16 = 0x2272; // r"

const timeNameLength: usize = 12;
const lastOfStatus: i8 = 0x73;
const lastOfTime: i8 = 0x74;
const statusNameLength: usize = 8;

/** What stands for a status: its number in the text. None of them is shorter than that. */
const digitsOfStatus: usize = 4;
const zeros: u32 = 0x30303030;
const mostStatuses: i32 = 10_000;

const none: i32 = -1;
/** By code: the number of a status in `core/model.ts`. */
const lengths = memory.data<u8>([4, 8, 5]);

/** Once so many are kept, there may be no room for those of one more text. */
export const manyStatuses: usize = 10_000;
/** The codes of statuses that were replaced, in the order of the texts. */
export const statuses: usize = memory.data(20_000);
export const statusesBytes: usize = 20_000;
/** Where those of the form made last begin, and how many they are. */
export let formStatuses: usize = statuses;
export let statusCount: i32 = 0;

/** Where the form that was made last begins. */
export let form: usize = 0;
/** Where the form so far ends. */
let written: usize = 0;
/** Where the text ends of which the form is made; while that is open, if no more statuses were replaced. */
export let textEnd: usize = 0;
/** Whether the form's length is known in place of the text's. */
let isEndOpen: bool = false;
/** Up to where the text is in the form. */
let taken: usize = 0;

/**
 * Writes the steady form of a text to `to`, where there is room for as much and what `endForm` adds. 31
 * bytes behind the text are read too, and 15 behind the form are written. The form makes texts alike
 * that differ in times of updates and in statuses alone: each time is as many zeros, and each status that is
 * a known one is its number in the text.
 *
 * Where one of two texts with the same form is JSON, the other one is too, and they say the same but
 * for these times and statuses, each in its place. For a form is made from the left: after as much as is
 * the same, both texts show the same name in the same place. What follows it is replaced in both or in
 * neither, since no form is made of a text in which something else could be taken for a status's number.
 * And in JSON a name between quotes, with no backslash before it and a colon behind it, is that of a field:
 * what is replaced is the inside of the string that is its value.
 *
 * @returns its length; 0 where nothing is to be replaced, or the text is no plain one
 */
export function makeForm(text: usize, length: usize, to: usize): usize {
  formStatuses = statuses;
  textEnd = text + length;
  isEndOpen = false;
  if (!make(text, textEnd, to) || taken == text) return 0;
  copyUpTo(textEnd);
  return written - form;
}

/**
 * The same of a text of which the form's length is known in place of its own. Where it ends is seen on the
 * way: each status that is replaced moves the end by as much as it is longer than its number. The codes of
 * statuses are written behind those of the form before.
 *
 * @param readable where the bytes end that may be looked at
 * @returns false where this is no such form; `textEnd` tells then what was needed at least
 */
export function makeFormOfLength(text: usize, readable: usize, length: usize, to: usize): bool {
  formStatuses += statusCount;
  textEnd = text + length;
  isEndOpen = true;
  if (!make(text, readable, to) || textEnd > readable) return false;
  copyUpTo(textEnd);
  return true;
}

/** The next text is looked at from its beginning. */
export function forgetStatuses(): void {
  formStatuses = statuses;
  statusCount = 0;
}

/** All of the form up to what follows the last thing that is replaced. */
function make(text: usize, readable: usize, to: usize): bool {
  written = form = to;
  taken = text;
  statusCount = 0;
  // Where the name that is found next ends at the earliest.
  let from = text + statusNameLength;
  for (let at = text + 1; at < textEnd && textEnd <= readable; at += 32) {
    for (let found = endsIn32(at); found != 0; found &= found - 1) {
      const last = at + ctz(found);
      if (last >= textEnd) break;
      if (last < from) continue;
      const isStatus = isStatusName(last);
      const start = isStatus || isTimeName(text, last) ? startOfString(last + 1, readable) : 0;
      if (start == 0) continue;
      const valueEnd = isStatus ? replaceStatus(start, readable) : replaceTime(start, readable);
      if (valueEnd == 0 || taken > textEnd) return false;
      if (valueEnd > start) from = valueEnd + statusNameLength;
    }
  }
  return true;
}

/** By bit: whether a name may end with a byte. Of 32 of them: most have none. */
function endsIn32(at: usize): i32 {
  return endsIn16(at) | (endsIn16(at + 16) << 16);
}

/** By bit: whether a byte is a quote behind the last letter of one of both names. */
function endsIn16(at: usize): i32 {
  const before = v128.load(at - 1);
  const isLastLetter = v128.or(
    i8x16.eq(before, i8x16.splat(lastOfStatus)),
    i8x16.eq(before, i8x16.splat(lastOfTime)),
  );
  const isQuote = i8x16.eq(v128.load(at), i8x16.splat(quote as i8));
  return i8x16.bitmask(v128.and(isQuote, isLastLetter));
}

/** Both names need an opening quote that is not the text's first byte, and no backslash before it. */
function isStatusName(last: usize): bool {
  return load<u64>(last - 7) == statusName && load<u8>(last - statusNameLength) != backslash;
}

function isTimeName(text: usize, last: usize): bool {
  return (
    load<u32>(last - 3) == timeNameEnd &&
    last - text >= timeNameLength &&
    load<u64>(last - 11) == timeNameBegin &&
    load<u8>(last - timeNameLength) != backslash
  );
}

/** Behind the opening quote of the string that a name has as its value; 0 where it has none. */
function startOfString(nameEnd: usize, end: usize): usize {
  const separator = skipSpace(nameEnd, end);
  if (separator == end || load<u8>(separator) != colon) return 0;
  const start = skipSpace(separator + 1, end);
  return start < end && load<u8>(start) == quote ? start + 1 : 0;
}

/** Where the string's closing quote stands; 0 where it has none, or anything but plain characters. */
function replaceTime(start: usize, end: usize): usize {
  const at = skipPlain(start, end);
  if (at == end || load<u8>(at) != quote) return 0;
  if (at == start) return start;
  copyUpTo(start);
  const blanks = i32x4.splat(zeros as i32);
  for (let done: usize = 0; done < at - start; done += 16) v128.store(written + done, blanks);
  written += at - start;
  taken = at;
  return at;
}

/** The same; `start` for another status than those that are known: it stays. */
function replaceStatus(start: usize, end: usize): usize {
  const code = statusAt(start, end);
  if (code == none) return start < end && mayBeDigit(load<u8>(start)) ? 0 : start;
  if (statusCount == mostStatuses) return 0;
  copyUpTo(start);
  putNumber(statusCount);
  store<u8>(formStatuses + statusCount, code as u8);
  statusCount++;
  const length: usize = load<u8>(lengths + code);
  if (isEndOpen) textEnd += length - digitsOfStatus;
  taken = start + length;
  return taken;
}

/** The code of the known status whose text, with the closing quote, stands there. */
function statusAt(start: usize, end: usize): i32 {
  const left = end - start;
  if (left > 4 && load<u32>(start) == idle && load<u8>(start, 4) == quote) return 0;
  if (left > 8 && load<u64>(start) == occupied && load<u8>(start, 8) == quote) return 1;
  if (left > 5 && load<u32>(start) == errorBegin && load<u16>(start, 4) == errorEnd) return 2;
  return none;
}

/** Behind a backslash each character can be meant. */
function mayBeDigit(byte: u8): bool {
  return (byte >= zero && byte <= nine) || byte == backslash;
}

/**
 * Copies what is not in the form yet, and up to 15 bytes behind it: for so few it is faster than to copy
 * exactly.
 */
function copyUpTo(end: usize): void {
  const length = end - taken;
  for (let done: usize = 0; done < length; done += 16) {
    v128.store(written + done, v128.load(taken + done));
  }
  written += length;
  taken = end;
}

function putNumber(number: i32): void {
  // Most texts have few. To divide takes longer than all else here.
  if (number < 10) {
    store<u32>(written, zeros + ((number as u32) << 24));
    written += digitsOfStatus;
    return;
  }
  let rest = number;
  for (let digit: usize = digitsOfStatus; digit > 0; digit--) {
    store<u8>(written + digit - 1, zero + ((rest % 10) as u8));
    rest /= 10;
  }
  written += digitsOfStatus;
}

/**
 * Writes behind the form how many statuses it stands for, and before that which, if they are wanted.
 *
 * @returns where that ends
 */
export function endForm(withStatuses: bool): usize {
  const formEnd = written;
  if (withStatuses) {
    memory.copy(written, formStatuses, statusCount);
    written += statusCount;
  }
  putNumber(statusCount);
  const end = written;
  written = formEnd;
  return end;
}
