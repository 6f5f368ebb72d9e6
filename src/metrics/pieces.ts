/**
 * Large enough that sending a piece costs little against rendering it, and small enough that both
 * take a millisecond or so.
 */
const pieceBytes = 256 * 1_024;

/**
 * Joins texts into pieces of bytes, each when it is asked for. All are in one buffer: a piece is good until the next one
 * is asked for. Strings written to a socket would each be copied to memory outside of the heap, and joined as strings
 * first they would take half as long again.
 */
export function* toPieces(texts: Iterable<string>): Iterable<Uint8Array> {
  let buffer = Buffer.allocUnsafeSlow(2 * pieceBytes);
  let used = 0;
  for (const text of texts) {
    // UTF-8 takes at most three bytes for each code unit.
    const mostBytes = text.length * 3;
    if (used > 0 && used + mostBytes > buffer.length) {
      yield buffer.subarray(0, used);
      used = 0;
    }
    if (mostBytes > buffer.length) buffer = Buffer.allocUnsafeSlow(mostBytes);
    used += buffer.write(text, used);
    if (used < pieceBytes) continue;
    yield buffer.subarray(0, used);
    used = 0;
  }
  if (used > 0) yield buffer.subarray(0, used);
}
