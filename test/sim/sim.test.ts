import { describe, expect, it } from "vitest";
import { catchControl, judgedWorld, negativeControls } from "./judged-worlds.ts";
import { simulate } from "./simulate.ts";

/** Short worlds of different kinds; `npm run test:sim` runs any others. */
const worlds = [
  { seed: 3, what: "probes, a pool and damaged rows" },
  { seed: 9, what: "a pool and servers that move" },
  { seed: 27, what: "reloads, damaged rows and an Alertmanager" },
  { seed: 168, what: "a cron schedule while clocks are changed, PagerDuty and reloads" },
];

describe("the whole daemon, where everything goes wrong that can", () => {
  it.each(worlds)(
    "notifies of every episode once and in order, invents none and leaves nothing (seed $seed: $what)",
    async ({ seed }) => {
      expect((await judgedWorld(seed)).broken).toBe("");
    },
  );

  it("does the very same again under the same seed, and something else under another", async () => {
    const [one, again, other] = [await judgedWorld(27), await simulate(27), await judgedWorld(3)];
    expect(again.hash).toBe(one.hash);
    expect(other.hash).not.toBe(one.hash);
  });
});

/** Caught in the first world or two; `npm run test:sim -- --controls` tries all of them. */
const quick = new Set([
  "marks messages as delivered before it sends them",
  "commits only the first poll of a group",
  "polls twice as often",
  "takes an unknown status for a recovery",
  "cannot start again",
]);
const quickControls = negativeControls.filter(({ name }) => quick.has(name));

describe("the oracle", () => {
  it.each(quickControls)("catches a daemon that $name", async (control) => {
    expect(await catchControl(control)).toEqual({
      isCaught: true,
      text: expect.stringMatching(/^seed \d+ broke [1-9]\d* promises/),
    });
  });

  it("catches nobody by a false alarm", async () => {
    const falseAlarm = async () => ({ broken: "a false alarm" });
    const caught = await Promise.all(
      quickControls.slice(0, 1).map((control) => catchControl(control, falseAlarm)),
    );
    expect(caught).toEqual([{ isCaught: false, text: "without the mutation, a false alarm" }]);
  });
});
