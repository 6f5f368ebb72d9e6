import { describe, expect, it } from "vitest";
import { tempFolder } from "../support/temp-folder.ts";
import type { ChaosResult } from "./chaos.ts";
import { checkMessages } from "./check-messages.ts";
import type { FaultKind } from "./faults.ts";
import type { Heard } from "./receiver.ts";
import { judgeChaos } from "./report.ts";
import { measureTakeOvers } from "./take-overs.ts";
import { checkTerms } from "./terms.ts";
import { copyUnfenced } from "./unfenced.ts";
import { receivers, type Call } from "./world.ts";

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

/** Calls of one target, each second. */
const every = (incarnation: string, fromMs: number, count: number): readonly Call[] =>
  Array.from({ length: count }, (_, index) => {
    const startMs = fromMs + index * 1_000;
    return { incarnation, region: "us", key: "key-0", startMs, endMs: startMs + 10 };
  });

const term = (incarnation: string, fromMs: number, untilMs: number) => ({
  incarnation,
  fromMs,
  untilMs,
});

describe("what is compared with who was active", () => {
  it("accepts one process after the other, and one that takes over again", () => {
    const terms = [term("a.1", 0, 9_000), term("b.1", 9_100, 20_000), term("a.1", 20_100, 30_000)];
    const calls = [...every("a.1", 0, 9), ...every("b.1", 9_500, 10), ...every("a.1", 20_500, 9)];
    expect(checkTerms(terms, calls)).toEqual([]);
  });

  it("finds two processes that are active at once", () => {
    const terms = [term("b.1", 8_000, 20_000), term("a.1", 0, 9_000)];
    expect(checkTerms(terms, [])).toEqual(["a.1 and b.1 are active at 1970-01-01T00:00:08.000Z"]);
  });

  it("finds a process that polls while another one is active", () => {
    const terms = [term("a.1", 0, 9_000), term("b.1", 9_100, 20_000)];
    expect(checkTerms(terms, every("a.1", 0, 12))).toEqual([
      "a.1 polls while b.1 is active: 1970-01-01T00:00:10.000Z",
    ]);
  });
});

it("measures how long taking over takes, until the process is active, has started, and polls", () => {
  const events = [
    { incarnation: "b.1", event: "process.active", atMs: 15_200 },
    { incarnation: "b.1", event: "daemon.started", atMs: 15_400 },
  ];
  const calls = [...every("a.1", 0, 11), ...every("b.1", 15_900, 3)];
  const fault = { kind: "freeze", incarnation: "a.1", atMs: 10_000 } as const;
  expect(measureTakeOvers([fault], events, calls)).toEqual([
    { kind: "freeze", activeMs: 5_200, startMs: 200, polledMs: [5_900] },
  ]);
  expect(measureTakeOvers([fault], [], calls)).toEqual([]);
});

describe("what is compared with limits", () => {
  const judged = (changed: Partial<ChaosResult>) =>
    judgeChaos({
      problems: ["lost"],
      faults: new Map([["kill", 99]]),
      takeOvers: [takeOver("freeze", 6_500), takeOver("stop", 3_500)],
      events: [],
      counts: {},
      ...changed,
    });
  const takeOver = (kind: FaultKind, ms: number) => ({
    kind,
    activeMs: ms,
    startMs: 500,
    polledMs: [ms],
  });

  it("accepts take-overs within a lease, the start and an interval, and after a stop within two seconds more", () => {
    expect(judged({})).toEqual(["lost"]);
    expect(judged({ takeOvers: [] })).toEqual(["lost"]);
    expect(judged({ counts: { missed: 20 } })).toEqual(["lost"]);
  });

  it.each([
    ["a slow take-over", { takeOvers: [takeOver("freeze", 6_501)] }, /^targets were polled 1 ms/],
    ["a slow take-over after a stop", { takeOvers: [takeOver("stop", 3_501)] }, /polled 1 ms/],
    [
      "that too many faults found nothing to happen to",
      { counts: { missed: 30 } },
      /^30 faults found nothing/,
    ],
    [
      "that no take-over was measured",
      {
        takeOvers: [],
        faults: new Map<FaultKind, number>([
          ["kill", 60],
          ["freeze", 40],
        ]),
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
