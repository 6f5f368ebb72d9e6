export const quote: u8 = 0x22;
export const comma: u8 = 0x2c;
export const colon: u8 = 0x3a;
export const backslash: u8 = 0x5c;
export const closeBrace: u8 = 0x7d;
export const zero: u8 = 0x30;
export const nine: u8 = 0x39;

/** Where the first byte from `start` on is that JSON does not take between its tokens, or `end`. */
export function skipSpace(start: usize, end: usize): usize {
  let at = start;
  while (at < end && isSpace(load<u8>(at))) at++;
  return at;
}

function isSpace(byte: u8): bool {
  return byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09;
}

/** Where the first byte from `start` on is that does not stand for itself in a string, or `end`. */
export function skipPlain(start: usize, end: usize): usize {
  for (let at = start; at < end; at += 16) {
    const found = unplain(v128.load(at));
    if (found != 0) return min(at + ctz(found), end);
  }
  return end;
}

/** By bit: whether a byte is a control character, a quote, a backslash, or no ASCII. Of 16 of them. */
function unplain(bytes: v128): i32 {
  const isControl = v128.or(
    i8x16.lt_s(bytes, i8x16.splat(0x20)),
    i8x16.eq(bytes, i8x16.splat(0x7f)),
  );
  const hasMeaning = v128.or(
    i8x16.eq(bytes, i8x16.splat(quote as i8)),
    i8x16.eq(bytes, i8x16.splat(backslash as i8)),
  );
  return i8x16.bitmask(v128.or(isControl, hasMeaning));
}
