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
