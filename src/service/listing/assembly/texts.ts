import { closeBrace, comma, skipSpace } from "./characters";
import { endForm, form } from "./steady-form";
import { xxh64 } from "./xxh64";

export { makeForm, statusCount, statuses } from "./steady-form";

const mostExpected: usize = 64;
const bytesOfExpected: usize = 12;

export let seed: u64 = 0;
/** Here is written what is expected: of each text its length, and its hash, the lower half first. */
export const expected: usize = memory.data((mostExpected * bytesOfExpected) as i32);
export const expectedBytes: usize = mostExpected * bytesOfExpected;
/** Where the texts begin. The form goes behind them. */
export const room: usize = __heap_base;
/** Behind the last text that came as expected. */
export let sameEnd: usize = 0;

/** How many of the texts that are expected come one after another from `start` on, as items of an array. */
export function countSame(start: usize, end: usize, count: usize): usize {
  let at = start;
  for (let index: usize = 0; index < count; index++) {
    const mark = expected + index * bytesOfExpected;
    const length: usize = load<u32>(mark);
    // No object is the beginning of another: where the expected text ends, the item does.
    if (length > end - at || load<u8>(at + length - 1) != closeBrace) return index;
    if (xxh64(at, length, seed) != load<u64>(mark, 4)) return index;
    sameEnd = at + length;
    const separator = skipSpace(sameEnd, end);
    if (separator == end || load<u8>(separator) != comma) return index + 1;
    at = skipSpace(separator + 1, end);
  }
  return count;
}

export function hash(start: usize, length: usize): u64 {
  return xxh64(start, length, seed);
}

/** Of the form made last, with which statuses it stands for, or only how many. */
export function hashForm(withStatuses: bool): u64 {
  return xxh64(form, endForm(withStatuses) - form, seed);
}
