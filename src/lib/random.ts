import { randomInt } from "node:crypto";

/** Gives numbers from 0 (included) to 1 (excluded). Handed in, so that one seed replays all. */
export type Random = () => number;

/** A small seeded generator (mulberry32, public domain, by Tommy Ettinger). Not for secrets. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Digits and lower-case letters, without those that are read as others: 0, 1, i, l, o. */
const alphabet = "23456789abcdefghjkmnpqrstuvwxyz";

/**
 * An id that people can read out and type: eight characters, of 850 thousand million such texts. The store refuses
 * one that is taken, and another one is drawn.
 *
 * @param draw gives a random whole number from 0 to below its argument
 */
export function shortId(draw: (below: number) => number = randomInt): string {
  return Array.from({ length: 8 }, () => alphabet[draw(alphabet.length)]).join("");
}
