import { draw, mix } from "./hash.ts";

/** Something that comes over some for a while, again and again. Time is cut into slots. */
export interface EpisodeKind {
  readonly slotMs: number;
  /** That there is one in a slot; never two. */
  readonly chance: number;
  /** The shortest is a fifth of it. */
  readonly longestMs: number;
  /** The share of those concerned that an episode strikes. */
  readonly struck: number;
}

const purpose = { start: 4, length: 5, struck: 6 };

/**
 * Tells whether an episode strikes at a moment.
 *
 * @param seed shared by all that an episode concerns
 * @param ownSeed of the one that is asked about
 */
export function episodes(
  kind: EpisodeKind,
  seed: number,
  ownSeed: number,
): (atMs: number) => boolean {
  let known = Number.NaN;
  let startMs = 0;
  let endMs = 0;
  return (atMs) => {
    const slot = Math.floor(atMs / kind.slotMs);
    if (slot !== known) {
      known = slot;
      const strikes =
        draw(seed, slot) < kind.chance && draw(mix(ownSeed, slot), purpose.struck) < kind.struck;
      const slotSeed = mix(seed, slot);
      const intoMs = draw(slotSeed, purpose.start) * (kind.slotMs - kind.longestMs);
      const share = 0.2 + 0.8 * draw(slotSeed, purpose.length);
      startMs = slot * kind.slotMs + intoMs;
      endMs = strikes ? startMs + share * kind.longestMs : startMs;
    }
    return atMs >= startMs && atMs < endMs;
  };
}
