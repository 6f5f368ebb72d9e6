/** Draws from one stream of random numbers. */
export interface Dice {
  /** From 0 (included) to 1 (excluded). */
  readonly random: () => number;
  chance(probability: number): boolean;
  /** A whole number, both ends included. */
  between(least: number, most: number): number;
  pick<T>(choices: readonly [T, ...T[]]): T;
  /** A stream of its own: what is drawn from it does not shift what is drawn elsewhere. */
  fork(purpose: string): Dice;
}

export function createDice(seed: number, purpose = ""): Dice {
  const random = seededRandom(mix(seed, purpose));
  const between = (least: number, most: number): number =>
    least + Math.floor(random() * (most - least + 1));
  return {
    random,
    between,
    chance: (probability) => random() < probability,
    pick: (choices) => choices[between(0, choices.length - 1)] ?? choices[0],
    fork: (name) => createDice(seed, `${purpose}/${name}`),
  };
}

/** FNV-1a over the purpose, begun with the seed. */
function mix(seed: number, purpose: string): number {
  let hash = Math.imul(seed ^ 0x811c9dc5, 0x9e3779b1);
  for (const char of purpose) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193);
  return hash >>> 0;
}

/** A small seeded generator (mulberry32, public domain, by Tommy Ettinger). */
function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
