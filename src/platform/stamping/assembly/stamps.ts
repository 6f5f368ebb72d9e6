const mostLines: usize = 256;
const bytesOfLine: usize = 8;
const bytesOfOwner: usize = 20;
const bytesOfRecord: usize = 48;
const dash: i8 = 0x2d;

/** Here is written of each line the address of its stamp, and that of its tail or 0. */
export const lines: usize = memory.data((mostLines * bytesOfLine) as i32);
/** Here, of one owner after another, how many of the lines are its, and its id. */
export const owners: usize = memory.data((mostLines * bytesOfOwner) as i32);
/** Here, of each line a record that begins with its own id. */
export const records: usize = memory.data((mostLines * bytesOfRecord) as i32);
/** What follows belongs to who uses the program. */
export const room: usize = __heap_base;
/** Behind what was stamped last. */
export let written: usize = 0;

// Texts of ids, in room for 16 bytes thrice.
const own: usize = memory.data(48);
const its: usize = memory.data(48);

/**
 * Stamps so many lines one behind another, until one ends at `full` or behind it. An id is a UUID of four
 * words of 32 bits, the first digits in the highest bits of the first one; that of a line begins its
 * record, which may hold the owner's too. 15 bytes behind what is read and written are read and written too.
 *
 * A stamp is its length in bytes; how many places it has for the line's id, for the first eight digits of
 * that, and for its owner's id; its text; these places, counted in bytes from where that begins. A tail is
 * its length and its text.
 *
 * @param stride from one record to the next
 * @param ownerAt where in a record the owner's id is; 0: the owners are told one after another
 * @returns how many were
 */
export function stamp(count: usize, stride: usize, ownerAt: usize, to: usize, full: usize): usize {
  let owner = owners - bytesOfOwner;
  let left: u32 = 0;
  let index: usize = 0;
  written = to;
  for (; index < count && written < full; index++) {
    const record = records + index * stride;
    if (ownerAt != 0) spell(record + ownerAt, its);
    else {
      for (; left == 0; left = load<u32>(owner)) {
        owner += bytesOfOwner;
        spell(owner + 4, its);
      }
      left--;
    }
    spell(record, own);
    stampOne(lines + index * bytesOfLine);
  }
  return index;
}

function stampOne(line: usize): void {
  const start = written;
  const head: usize = load<u32>(line);
  const length: usize = load<u32>(head);
  const owns = head + 16 + length;
  const shorts = owns + load<u32>(head, 4) * 4;
  const others = shorts + load<u32>(head, 8) * 4;
  const end = others + load<u32>(head, 12) * 4;
  copy(head + 16, length);
  for (let place = owns; place < shorts; place += 4) put(own, start + load<u32>(place));
  for (let place = shorts; place < others; place += 4) {
    store<u64>(start + load<u32>(place), load<u64>(own));
  }
  for (let place = others; place < end; place += 4) put(its, start + load<u32>(place));
  const tail: usize = load<u32>(line, 4);
  if (tail != 0) copy(tail + 4, load<u32>(tail));
}

/** For so few bytes it is faster to copy up to 15 more than to copy exactly. */
function copy(from: usize, length: usize): void {
  for (let done: usize = 0; done < length; done += 16) {
    v128.store(written + done, v128.load(from + done));
  }
  written += length;
}

function put(id: usize, at: usize): void {
  v128.store(at, v128.load(id));
  v128.store(at, v128.load(id, 16), 16);
  store<u32>(at, load<u32>(id, 32), 32);
}

/** Writes the text of an id. */
function spell(id: usize, to: usize): void {
  const words = v128.load(id);
  // prettier-ignore
  const bytes = v128.shuffle<u8>(words, words, 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);
  const high = digitsOf(i8x16.shr_u(bytes, 4));
  const low = digitsOf(v128.and(bytes, i8x16.splat(0x0f)));
  // prettier-ignore
  const first = v128.shuffle<u8>(high, low, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  // prettier-ignore
  const last = v128.shuffle<u8>(high, low, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  const dashes = i8x16.splat(dash);
  // prettier-ignore
  const begin = v128.shuffle<u8>(first, dashes, 0, 1, 2, 3, 4, 5, 6, 7, 16, 8, 9, 10, 11, 16, 12, 13);
  // prettier-ignore
  const between = v128.shuffle<u8>(first, last, 14, 15, 0, 16, 17, 18, 19, 0, 20, 21, 22, 23, 24, 25, 26, 27);
  // prettier-ignore
  const middle = v128.shuffle<u8>(between, dashes, 0, 1, 16, 3, 4, 5, 6, 16, 8, 9, 10, 11, 12, 13, 14, 15);
  v128.store(to, begin);
  v128.store(to, middle, 16);
  store<u32>(to, v128.extract_lane<u32>(last, 3), 32);
}

/** Of 16 numbers below 16. */
function digitsOf(numbers: v128): v128 {
  // 0123456789abcdef
  return v128.swizzle(i64x2(0x3736353433323130, 0x6665646362613938), numbers);
}
