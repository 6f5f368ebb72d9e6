import { randomInt } from "node:crypto";

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
