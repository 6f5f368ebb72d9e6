const fewWords = 64;
/** From this on the least is what the system gives, and takes back, as a whole: 32 MiB, see `PageRoom`. */
const manyWords = 1024 * 1024;
const wholeWords = 8 * 1024 * 1024;

/**
 * The same words, in a larger array where so many have no room. What they were in is freed then, as garbage would
 * make V8 look through all memory sooner: nobody else may hold it, or a part of its buffer, as it is empty.
 */
export function withRoom(
  words: Uint32Array<ArrayBuffer>,
  neededWords: number,
): Uint32Array<ArrayBuffer> {
  if (neededWords <= words.length) return words;
  const least = neededWords < manyWords ? fewWords : wholeWords;
  const larger = new Uint32Array(Math.max(least, neededWords * 2));
  larger.set(words);
  words.buffer.transfer(0);
  return larger;
}
