import { closeBrace, comma, skipSpace } from "./characters";
import {
  endForm,
  forgetStatuses,
  form,
  formStatuses,
  makeFormOfLength,
  manyStatuses,
  statusCount,
  statuses,
  textEnd,
} from "./steady-form";
import { xxh64 } from "./xxh64";

export { makeForm, statusCount, statuses, statusesBytes } from "./steady-form";

const mostExpected: usize = 64;

// Marks as `core/text-mark.ts` has them: here in bytes.
const bytesOfMark: usize = 24;
const steadyHashOf: usize = 8;
const lengthOf: usize = 16;
const noteOf: usize = 20;
const openMask: u32 = 0x3_0000;
const noneOpen: u32 = 0;
/** In place of a text's hash: one that is likely to be another one again needs none. */
const unknown: u64 = 0;
const shorterShift: u32 = 18;
const mostShorter: usize = 0x3fff;
const belowShorter: u32 = 0x3_ffff;

export let seed: u64 = 0;
/** Here are written the marks of the texts that are expected: of another text that came, they become its own. */
export const marks: usize = memory.data((mostExpected * bytesOfMark) as i32);
export const marksBytes: usize = mostExpected * bytesOfMark;
/** Of each of them, a word: 0 where it came itself, else one more than the statuses of what came. */
export const given: usize = memory.data((mostExpected * 4) as i32);
/** Where the texts begin. The form goes behind them. */
export const room: usize = __heap_base;
/** Behind the last text that was known. */
export let knownEnd: usize = 0;
/** Of the texts that were known: how many were others than expected. */
export let others: i32 = 0;
/** How many bytes of the first text that was not known must be there to tell; 0 where it is another one. */
export let wanted: usize = 0;

/** Whether the text at hand may come once more: not all before it were others. */
let mayStay: bool = false;

/** So much must be there behind where a text seems to end, or a status at its end may not be seen whole. */
const sight: usize = 64;

/**
 * How many of so many texts that are expected come one after another from `start` on, as items of an array:
 * as they were, or, if forms are looked at, with the same steady form.
 *
 * @param readable where the bytes at hand end
 * @param to where forms are made
 */
export function countKnown(
  start: usize,
  readable: usize,
  count: usize,
  withForms: bool,
  to: usize,
): usize {
  let at = start;
  others = 0;
  forgetStatuses();
  for (let index: usize = 0; index < count; index++) {
    const mark = marks + index * bytesOfMark;
    mayStay = index == 0 || others < (index as i32);
    const end = endOfKnown(mark, given + index * 4, at, readable, withForms, to);
    if (end == 0) return index;
    knownEnd = end;
    const separator = skipSpace(end, readable);
    if (separator == readable || load<u8>(separator) != comma) return index + 1;
    at = skipSpace(separator + 1, readable);
  }
  return count;
}

/** Where the text ends that begins at `at`, if it is known by its mark; else 0. */
function endOfKnown(
  mark: usize,
  gives: usize,
  at: usize,
  readable: usize,
  withForms: bool,
  to: usize,
): usize {
  const length: usize = load<u32>(mark, lengthOf);
  const isWhole = at + length <= readable;
  wanted = isWhole ? 0 : length;
  // No object is the beginning of another: where the expected text ends, the item does.
  const mayBeIt = isWhole && load<u64>(mark) != unknown && load<u8>(at + length - 1) == closeBrace;
  const hash = mayBeIt ? xxh64(at, length, seed) : unknown;
  if (mayBeIt && hash == load<u64>(mark)) {
    store<u32>(gives, 0);
    return at + length;
  }
  if (!withForms || load<u64>(mark, steadyHashOf) == 0) return 0;
  if (formStatuses + statusCount - statuses >= manyStatuses) return 0;
  const note = load<u32>(mark, noteOf);
  const formLength = length - (note >> shorterShift);
  const isForm = makeFormOfLength(at, readable, formLength, to);
  if (!isForm || !isFormOf(mark, note)) {
    if (textEnd + sight > readable) wanted = max(length, textEnd + sight - at);
    return 0;
  }
  const ownLength = textEnd - at;
  if (ownLength - formLength > mostShorter) return 0;
  if (ownLength == length) store<u64>(mark, mayBeIt ? hash : xxh64(at, length, seed));
  else store<u64>(mark, mayStay ? xxh64(at, ownLength, seed) : unknown);
  store<u32>(mark, ownLength as u32, lengthOf);
  const shorter = (ownLength - formLength) as u32;
  store<u32>(mark, (note & belowShorter) | (shorter << shorterShift), noteOf);
  store<u32>(gives, statusCount + 1);
  others++;
  return textEnd;
}

/** Whether the form made last is the one that a mark tells of. */
function isFormOf(mark: usize, note: u32): bool {
  return hashForm((note & openMask) == noneOpen) == load<u64>(mark, steadyHashOf);
}

export function hash(start: usize, length: usize): u64 {
  return xxh64(start, length, seed);
}

/** Of the form made last, with which statuses it stands for, or only how many. */
export function hashForm(withStatuses: bool): u64 {
  return xxh64(form, endForm(withStatuses) - form, seed);
}
