import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { retireProbe } from "../../src/alerts/judge-probe.ts";
import type { ProbeOutcome } from "../../src/alerts/probe.ts";
import type { ProbeRule } from "../../src/alerts/rule.ts";
import { startMs } from "../support/fleet.ts";
import {
  answered,
  backingOff,
  failing,
  judgeProbesBy,
  login,
  probeFailing,
  ranProbe,
  unsent,
} from "../support/probes.ts";
import { inPolls, lasting } from "./support/watch.ts";

const minute = 60_000;
const once = { for: inPolls(1) };
const reminding = { ...once, remindEveryMs: minute };
const lastingLonger = { ...once, keepFiringForMs: minute, remindEveryMs: 2 * minute };
const flaps = { ...once, flap: { changes: 2, withinMs: 10 * minute } };

/** How runs end. A capital letter: while a receiver was notified that the target is down. */
const outcomes: Readonly<Record<string, ProbeOutcome>> = {
  o: answered,
  f: failing(),
  n: failing("http_error", 404),
  v: failing("invalid_body", 200),
  r: failing("auth", 403),
  x: unsent,
  w: backingOff,
};

type Probe = ReturnType<typeof ranProbe>;

/** The probe in a new process, as its store gives it back. */
function restarted({ watched: { id, subject, state } }: Probe, rule: Partial<ProbeRule>): Probe {
  const { progress } = state;
  const openIncidents = [...state.incidents.values()];
  const restored = { id, subject, progress, openIncidents, flaps: [...state.flaps.values()] };
  return ranProbe(judgeProbesBy([{ ...probeFailing, ...rule }]), { restored });
}

/** Plays runs, one a minute, and gives them with the steps of incidents in brackets. `R`: a restart; `,`: 3 hours pass. */
function play(story: string, rule: Partial<ProbeRule> = {}): readonly [string, Probe] {
  let probe = ranProbe(judgeProbesBy([{ ...probeFailing, ...rule }]));
  let seconds = 60;
  const played = Array.from(story.replaceAll(/\[\w+\]/g, ""), (letter) => {
    if (letter === "R") probe = restarted(probe, rule);
    if (letter === ",") seconds = 10_800;
    const outcome = outcomes[letter.toLowerCase()];
    if (!outcome || letter === "R") return letter;
    const targetIsNotified = letter !== letter.toLowerCase();
    const { incidents } = probe.run(outcome, { seconds, targetIsNotified });
    seconds = 60;
    return `${letter}${incidents.steps.map(({ step }) => `[${step}]`).join("")}`;
  });
  return [played.join(""), probe];
}

it.each<[what: string, story: string, rule?: Partial<ProbeRule>]>([
  ["that fails as often in a row as the rule says fires", "f[opened]ff[fired]fo[resolved]"],
  ["that succeeds in between begins the count again", "f[opened]fo[dropped]f[opened]f"],
  ["fires by a duration", "f[opened]ff[fired]", { for: lasting(2 * minute) }],
  ["fails if nothing could be sent", "x[fired]", once],
  ["keeps firing, and is reminded of", "f[fired]ff[reminded]oo[resolved]o", lastingLonger],
  [
    "that comes and goes too often flaps",
    "f[fired]o[resolved]f[fired]o[resolved]f[fired]ofofo",
    flaps,
  ],
  ["is hidden while its target is down", "F", once],
  ["without capacity is hidden while its target is down", "X", once],
  ["that is answered wrongly is not hidden", "N[fired]", once],
  ["that is answered by no JSON is not hidden", "V[fired]", once],
  ["neither ages nor is reminded of while hidden", "f[opened]fFFf[fired]"],
  ["is reminded of only when visible again", "f[fired]FFf[reminded]", reminding],
  ["that succeeds resolves although its target is down", "f[fired]O[resolved]", once],
  ["that is not sent as the key is refused does not count", "r[opened]wwrwr[fired]"],
  [
    "that is not sent lets time pass",
    "r[opened]ww[fired]o[resolved]",
    { for: lasting(2 * minute) },
  ],
  ["that is not sent is hidden while its target is down", "r[opened]W", { for: lasting(minute) }],
  ["goes on over a restart", "f[opened]ff[fired]Rfo[resolved]"],
  ["counts runs over a restart", "f[opened]fR,f[fired]"],
  ["counts no time over a restart", "f[opened]fR,fff[fired]", { for: lasting(3 * minute) }],
])("a probe %s", (_what, story, rule) => {
  expect(play(story, rule)[0]).toBe(story);
});

describe("a run of a probe", () => {
  it("whose answer is not as expected says which expectation was not met", () => {
    const fields = [{ path: ["a(b)"], must: { be: "present" } as const }];
    const probe = { ...login, expect: { ...login.expect, fields } };
    const { run } = ranProbe(judgeProbesBy([{ ...probeFailing, ...once }]), { probe });
    const { result, incidents } = run(answered);
    expect(result).toMatchObject({ reason: "unmet", detail: "field a(b) is not there" });
    expect(incidents.outbox[0]).toMatchObject({
      condition: "failing",
      detail: "field a(b) is not there",
    });
  });

  it.each([
    [404, failing("http_error", 404), null],
    [404, failing("http_error", 410), "http_error"],
    [404, failing("timeout", null), "timeout"],
    [404, answered, "unmet"],
    [200, failing("network", 200), "network"],
  ])("where status %i is expected, by %j: %s", (status, outcome, reason) => {
    const probe = { ...login, expect: { ...login.expect, status } };
    expect(ranProbe(judgeProbesBy(), { probe }).run(outcome).result?.reason).toBe(reason);
  });

  it("begins to fail, and works again, once each", () => {
    const { run } = ranProbe();
    const runs = [answered, failing(), failing(), answered, answered];
    const turns = runs.map((outcome) => run(outcome).turn);
    expect(turns).toEqual([null, "failed", null, "recovered", null]);
  });

  it.each([{ probe: ["brand"] }, { region: ["eu"] }, { key: ["e*"] }])(
    "is not judged by a rule about %j",
    (match) => {
      expect(play("f", { ...once, match })[0]).toBe("f");
    },
  );
});

it.each<[string, readonly ProbeRule[]]>([
  ["was removed", []],
  ["has another time", [{ ...probeFailing, for: inPolls(9) }]],
  ["is about other probes", [{ ...probeFailing, match: { probe: ["brand"] } }]],
])("a rule that %s ends its incidents and says so", (_, rules) => {
  const [, { watched }] = play("fff");
  const retired = retireProbe(watched.state, 5, judgeProbesBy(rules));
  expect(retired.written).toMatchObject([{ phase: { reason: "rule_removed" } }]);
  expect(retired.outbox).toMatchObject([{ type: "incident.resolved", condition: "failing" }]);
  expect(retireProbe(watched.state, 5, judgeProbesBy()).steps).toEqual([]);
});

it("restarts change nothing of what runs in a row lead to", () => {
  const stories = fc.array(fc.constantFrom(...Array.from("oofrxwR")), { maxLength: 40 });
  fc.assert(
    fc.property(stories, (story) => {
      const [restartedSteps] = play(story.join(""));
      const [steps] = play(story.filter((letter) => letter !== "R").join(""));
      expect(restartedSteps.replaceAll("R", "")).toBe(steps);
    }),
  );
});

describe("what is shown of a probe", () => {
  const counted = { ...answered, universes: 5, lastUsedAtMs: startMs } as const;
  const read = { universes: 5, lastUsedAtMs: startMs };
  const shown = { success: true, durationMs: 40, ...read };
  const nothing = { success: null, durationMs: null, universes: null, lastUsedAtMs: null };
  const failed = { ...nothing, success: false, durationMs: 40 };
  const runsOf = {
    o: answered,
    c: counted,
    f: failing(),
    x: unsent,
    r: failing("auth", 403),
    w: backingOff,
  };

  it.each<[what: string, runs: (keyof typeof runsOf)[], readings: object]>([
    ["is nothing before the first run", [], nothing],
    ["is what its last run said", ["c"], shown],
    ["is what was last read, for two failures", ["c", "f", "f"], { ...failed, ...read }],
    ["is not what was last read after three", ["c", "f", "f", "f"], failed],
    ["is what is read again", ["f", "f", "f", "c"], shown],
    ["is not what the answer no longer has", ["c", "o"], { ...failed, success: true }],
    ["remains while nothing can be sent", ["c", "x", "x"], shown],
    ["is withheld after three runs without a request", ["c", "x", "x", "x"], nothing],
    ["remains a failure while the key is refused", ["r", "w", "w", "w", "w"], failed],
  ])("%s", (_, runs, readings) => {
    const { run, watched } = ranProbe();
    for (const each of runs) run(runsOf[each]);
    expect(watched.readings).toMatchObject(readings);
  });

  it("is withheld when the store takes no run any more", () => {
    const { run, watched } = ranProbe();
    run(counted);
    for (let time = 0; time < 3; time += 1) watched.loseRun();
    expect(watched.readings).toMatchObject(nothing);
  });
});
