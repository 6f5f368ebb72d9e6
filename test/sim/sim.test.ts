import { describe, expect, it } from "vitest";
import { brokenIn, catchControl } from "./catch-control.ts";
import { simulate } from "./simulate.ts";
import type { Run } from "./simulate.ts";
import { negativeControls } from "./support/negative-controls.ts";

const patienceMs = 120_000;

/** A short world in which much happens; `npm run test:sim` tries as many others as one likes. */
const seed = 51;
let firstRun: Promise<Run> | undefined;
const first = (): Promise<Run> => (firstRun ??= simulate(seed));

describe("the whole daemon, where everything goes wrong that can", () => {
  it(
    `tells every episode once and in order, invents none and leaves nothing (seed ${seed})`,
    async () => {
      expect(brokenIn(await first())).toBe("");
    },
    patienceMs,
  );

  it(
    "does the very same again under the same seed, and something else under another",
    async () => {
      const [one, again, other] = [await first(), await simulate(seed), await simulate(27)];
      expect(again.hash).toBe(one.hash);
      expect(other.hash).not.toBe(one.hash);
    },
    patienceMs,
  );
});

/** Caught in the first world or two; `npm run test:sim -- --controls` tries all of them. */
const quick = new Set([
  "acknowledges before it sends",
  "commits only the first poll of a group",
  "polls twice as often",
  "takes an unknown status for a recovery",
  "cannot start again",
]);

describe("the oracle", () => {
  it.each(negativeControls.filter(({ name }) => quick.has(name)))(
    "catches a daemon that $name",
    async (control) => {
      expect(await catchControl(control)).toMatch(/^seed \d+ broke [1-9]\d* promises/);
    },
    patienceMs,
  );
});
