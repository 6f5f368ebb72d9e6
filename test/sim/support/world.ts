import { createHash } from "node:crypto";
import { createDice, type Dice } from "../draw/dice.ts";
import { drawScenario } from "../scenario.ts";
import { createWorldTime } from "./world-time.ts";

export type World = ReturnType<typeof createWorld>;

/** @param folder whose name is another one in each run, and is not part of what happened */
export function createWorld(seed: number, folder: string) {
  const scenario = drawScenario(seed);
  const dice = createDice(seed, "world");
  const time = createWorldTime(scenario.startUtcMs);
  const hash = createHash("sha256");
  const story: StoryLine[] = [];
  /** Notes what happened in the hash alone. */
  const note = (what: string): void => void hash.update(`${time.nowMs} ${what}\n`);
  return {
    scenario,
    dice,
    time,
    note,
    /** Notes it in the story, too. */
    log(what: string): void {
      const text = what.replaceAll(folder, "");
      note(text);
      story.push({ atMs: time.nowMs, text });
    },
    story,
    hash: (): string => hash.copy().digest("hex"),
    killSwitch: createKillSwitch(dice.fork("fuse")),
  };
}

export interface StoryLine {
  readonly atMs: number;
  readonly text: string;
}

/** Time since the world began, for a person: "1d 04:05:06.007". */
export function timeText(ms: number): string {
  const days = Math.floor(ms / 86_400_000);
  return `${days}d ${new Date(ms % 86_400_000).toISOString().slice(11, 23)}`;
}

/** How many steps a kill waits at most, after each event: about as many as the event leads to. */
const longestWait = { now: 60, news: 40, taken: 10, start: 90 } as const;

type KillEvent = keyof typeof longestWait;

/**
 * Decides when the process is killed: some steps after an event. A statement is two steps, before it and
 * after it, and so are a request and its answer. Between two steps a process does nothing that anybody could
 * observe, so a kill at any `await` is a kill at a step.
 */
function createKillSwitch(dice: Dice) {
  let waitsFor: KillEvent | null = null;
  let left: number | null = null;
  const start = (event: KillEvent): void => {
    waitsFor = null;
    left = dice.between(1, longestWait[event]);
  };
  const reset = (): void => {
    waitsFor = null;
    left = null;
  };
  return {
    killAfter(event: KillEvent): void {
      if (event === "now") start(event);
      else waitsFor = event;
    },
    happened(event: KillEvent): void {
      if (waitsFor === event) start(event);
    },
    /** Whether the process is killed at this step. */
    step(): boolean {
      if (left === null) return false;
      left -= 1;
      if (left > 0) return false;
      reset();
      return true;
    },
    reset,
  };
}

/** Does something N times in a hundred polls, in the mean, until the world becomes calm. */
export function often(world: World, dice: Dice, timesInHundred: number, act: () => void): void {
  const { time, scenario } = world;
  if (timesInHundred === 0) return;
  const meanMs = (100 / timesInHundred) * scenario.intervalMs;
  const waitMs = -Math.log(1 - dice.random()) * meanMs;
  if (time.nowMs + waitMs >= scenario.calmMs) return;
  time.setTimer(waitMs, () => {
    act();
    often(world, dice, timesInHundred, act);
  });
}

/** Does something at N random times. */
export function atTimes(world: World, dice: Dice, times: number, untilMs: number, act: () => void) {
  for (let left = times; left > 0; left--) world.time.setTimer(dice.random() * untilMs, act);
}
