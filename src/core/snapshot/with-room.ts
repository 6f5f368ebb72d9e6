const fewWords = 64;

/** The same words, in a larger array where so many have no room. */
export function withRoom(
  words: Uint32Array<ArrayBuffer>,
  neededWords: number,
): Uint32Array<ArrayBuffer> {
  if (neededWords <= words.length) return words;
  const larger = new Uint32Array(Math.max(fewWords, neededWords * 2));
  larger.set(words);
  return larger;
}
