import { describe, expect, it } from "vitest";
import { tempFolder } from "../support/temp-folder.ts";
import type { ChaosResult } from "./chaos.ts";
import { checkCalls } from "./check-calls.ts";
import { checkMessages } from "./check-messages.ts";
import type { Heard } from "./receiver.ts";
import type { Note } from "./replica.ts";
import { judgeChaos } from "./report.ts";
import { copyUnfenced } from "./unfenced.ts";
import { receivers } from "./world.ts";

const episode = { subject: "server", startMs: 10_000, endMs: 20_000, isLong: true };

/** One incident to both receivers, each step under an id. */
function heardOf(incident: string, startedMs = 11_000, states = ["firing", "resolved"] as const) {
  return receivers.flatMap((receiver) =>
    states.map((state): Heard => {
      const id = `${incident} ${state}`;
      return { receiver, id, incident, state, subject: "server", startedMs, atMs: startedMs };
    }),
  );
}

describe("what is compared with notifications", () => {
  it("accepts each error once, and repetitions under the same id", () => {
    const heard = heardOf("a");
    expect(checkMessages([episode], [...heard, ...heard.slice(0, 1)])).toEqual([]);
  });

  it.each([
    ["an error that was lost", [], /^lost: server/],
    ["two incidents", [...heardOf("a"), ...heardOf("b")], /^2 incidents for one error/],
    [
      "two ids",
      [...heardOf("a"), ...heardOf("a").map((each) => ({ ...each, id: "other" }))],
      /under 2 ids/,
    ],
    ["another order", heardOf("a").toReversed(), /^resolved and then firing/],
    [
      "an incident that stays",
      heardOf("a").filter(({ state }) => state === "firing"),
      /^never resolved/,
    ],
    ["an error that was not", heardOf("a", 9_000), /^notified of what was not/],
  ])("finds %s", (_, heard, problem) => {
    expect(checkMessages([episode], heard)).toContainEqual(expect.stringMatching(problem));
  });

  it("finds that the next error is notified before the end of the last one", () => {
    const next = { ...episode, startMs: 30_000, endMs: 40_000 };
    const [first, later] = [heardOf("a"), heardOf("b", 31_000)];
    expect(checkMessages([episode, next], [...first, ...later])).toEqual([]);
    const heard = [...first.slice(0, -1), ...later, ...first.slice(-1)];
    expect(checkMessages([episode, next], heard)).toEqual([
      expect.stringMatching(/^fires at .* before a is resolved: server to /),
    ]);
  });
});

const every = (incarnation: string, fromMs: number, count: number) =>
  Array.from({ length: count }, (_, index) => {
    const startMs = fromMs + index * 1_000;
    return { incarnation, region: "us", key: "key-0", startMs, endMs: startMs + 10 };
  });

const note = (incarnation: string, what: Note["what"], atMs: number, generation = 1): Note => ({
  incarnation,
  what,
  generation,
  atMs,
});

describe("what is compared with calls", () => {
  it("accepts one call by a replica that lost the target, and measures how long taking over takes", () => {
    const notes = [
      note("r0.1", "started", 0),
      note("r1.1", "started", 0),
      note("r0.1", "killed", 30_500),
    ];
    const calls = [...every("r0.1", 20_000, 11), ...every("r1.1", 35_000, 5)];
    const stray = every("r0.1", 36_500, 1);
    expect(checkCalls([...calls, ...stray], notes)).toEqual({
      problems: [],
      takeOversMs: [5_000],
      handOversMs: [],
    });
  });

  it("finds two replicas that call the same target", () => {
    const { problems } = checkCalls([...every("r0.1", 0, 4), ...every("r1.1", 500, 4)], []);
    expect(problems).toContainEqual(expect.stringMatching(/^two replicas called us\/key-0/));
  });

  it("finds a key above its limit", () => {
    const burst = Array.from({ length: 9 }, () => every("r0.1", 5_000, 1)).flat();
    expect(checkCalls(burst, []).problems).toContainEqual(
      expect.stringMatching(/^key-0 was above its limit/),
    );
  });

  it("finds an older configuration that takes over although a newer one is there", () => {
    const notes = [note("r0.1", "started", 0, 2), note("r1.1", "started", 20_000, 1)];
    const { problems } = checkCalls(every("r1.1", 22_000, 2), notes);
    expect(problems).toContainEqual(expect.stringMatching(/^r1\.1, whose configuration is older/));
  });
});

describe("what is compared with limits", () => {
  const judged = (changed: Partial<ChaosResult>) =>
    judgeChaos({
      problems: ["lost"],
      faults: new Map([["kill", 99]]),
      takeOversMs: [6_000],
      handOversMs: [...Array<number>(2).fill(1_000), 6_000],
      events: new Map(),
      counts: { replicas: 3 },
      ...changed,
    });

  it("accepts take-overs after a lease, and most hand-overs long before", () => {
    expect(judged({})).toEqual(["lost"]);
    expect(judged({ takeOversMs: [], handOversMs: [] })).toEqual(["lost"]);
    expect(judged({ counts: { replicas: 3, missed: 20 } })).toEqual(["lost"]);
    const faults = new Map([["kill", 100]] as const);
    expect(judged({ faults, takeOversMs: [], counts: { replicas: 1 } })).toEqual(["lost"]);
  });

  it.each([
    ["a slow take-over", { takeOversMs: [1_000, 6_001] }, /^taking over took 6001 ms, p99/],
    ["a slow hand-over", { handOversMs: [1_000, 1_000, 6_001] }, /^handing over .* 6001 ms, p99/],
    ["that nothing is released", { handOversMs: [4_000, 5_000] }, /^handing over .* 4000 ms, p50/],
    [
      "that too many faults found nothing to happen to",
      { counts: { replicas: 3, missed: 30 } },
      /^30 faults found nothing/,
    ],
    [
      "that no take-over was measured",
      {
        takeOversMs: [],
        faults: new Map([
          ["kill", 60],
          ["freeze", 40],
        ] as const),
      },
      /^no take-over/,
    ],
  ])("finds %s", (_, changed, problem) => {
    expect(judged(changed)).toEqual(["lost", expect.stringMatching(problem)]);
  });
});

it("the control removes the fence as it is written", () => {
  expect(copyUnfenced(tempFolder())).toMatch(/cli\.js$/);
});
