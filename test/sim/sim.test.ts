import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { catchControl, judgedWorld, negativeControls } from "./judged-worlds.ts";
import { simulate } from "./simulate.ts";

/** Short worlds of different kinds; `npm run test:sim` runs any others. */
const worlds = [
  { seed: 9, what: "a pool, servers that move, hours and escalation" },
  { seed: 50, what: "probes, a pool and PagerDuty" },
];

describe("the whole daemon, where everything fails that can", () => {
  it.each(worlds)("keeps every promise (seed $seed: $what)", async ({ seed }) => {
    expect((await judgedWorld(seed)).broken).toBe("");
  });

  it("does the same again under the same seed, and something else under another", async () => {
    const [one, again, other] = [await judgedWorld(9), await simulate(9), await judgedWorld(50)];
    expect(again.hash).toBe(one.hash);
    expect(other.hash).not.toBe(one.hash);
  });
});

/** Caught in the first world or two; `npm run test:sim -- --controls` tries all of them. */
const quick = [
  "records deliveries before it sends them",
  "commits only the first poll of a group",
  "polls twice as often",
  "cannot start again",
];
const quickControls = negativeControls.filter(([name]) => quick.includes(name));

describe("the oracle", () => {
  it.each(quickControls)("catches a daemon that %s", async (_, control) => {
    expect(await catchControl(control)).toEqual({
      isCaught: true,
      text: expect.stringMatching(/^seed \d+ broke [1-9]\d* promises/),
    });
  });

  it("catches none by a false alarm", async () => {
    const falseAlarm = async () => ({ broken: "a false alarm" });
    const caught = await Promise.all(
      quickControls
        .filter(([name]) => name === "cannot start again")
        .map(([, control]) => catchControl(control, falseAlarm)),
    );
    expect(caught).toEqual([{ isCaught: false, text: "without the mutation, a false alarm" }]);
  });

  it("shares no code with the product, not even through what it imports", () => {
    const folder = join(import.meta.dirname, "oracle");
    const files = readdirSync(folder).map((name) => join(folder, name));
    // A set also visits what is added to it meanwhile.
    const reached = new Set(files);
    for (const file of reached) {
      const imports = readFileSync(file, "utf8").matchAll(/(?:from|import\()\s*"(\.[^"]+)"/g);
      for (const [, path = ""] of imports) reached.add(resolve(dirname(file), path));
    }
    expect(reached.size).toBeGreaterThan(files.length);
    const root = resolve(import.meta.dirname, "../..");
    const paths = Array.from(reached, (file) => relative(root, file));
    expect(paths.filter((path) => path.startsWith("src/"))).toEqual([]);
  });
});
