import type { Dice } from "./dice.ts";

/** What a kill waits for before the fuse begins to burn. */
export const fuseTriggers = ["now", "news", "taken", "start"] as const;
export type FuseTrigger = (typeof fuseTriggers)[number];

/**
 * Decides when the process is killed: so many passings after a trigger. Something passes with every
 * statement, before it and after it, and with every request and answer. Between two of these a
 * process does nothing that anybody could see, so a kill at any await is one of these.
 */
export interface Fuse {
  set(trigger: FuseTrigger): void;
  trigger(trigger: FuseTrigger): void;
  /** True: this is where it dies. */
  passing(): boolean;
  /** A process has died, or nothing goes wrong any more. */
  put(): void;
}

/** How many passings a fuse lasts at most: about as many as there are in what the trigger leads to. */
const longest: Readonly<Record<FuseTrigger, number>> = {
  now: 60,
  news: 40,
  taken: 10,
  start: 90,
};

export function createFuse(dice: Dice): Fuse {
  let waitsFor: FuseTrigger | null = null;
  let left: number | null = null;

  const light = (trigger: FuseTrigger): void => {
    waitsFor = null;
    left = dice.between(1, longest[trigger]);
  };

  return {
    set(trigger) {
      if (trigger === "now") light(trigger);
      else waitsFor = trigger;
    },
    trigger(trigger) {
      if (waitsFor === trigger) light(trigger);
    },
    passing() {
      if (left === null) return false;
      left -= 1;
      return left <= 0;
    },
    put() {
      waitsFor = null;
      left = null;
    },
  };
}
