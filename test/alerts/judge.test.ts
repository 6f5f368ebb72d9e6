import { describe, expect, it } from "vitest";
import { isNotifiedAsDown } from "../../src/alerts/incident.ts";
import type { NotifiedIncident, OutboxItem } from "../../src/alerts/notification.ts";
import { summarize } from "../../src/alerts/notification-summary.ts";
import type { Rule } from "../../src/alerts/rule.ts";
import { elapsedSince, nothingKnown } from "../../src/alerts/target-state.ts";
import { startMs } from "../support/fleet.ts";
import { broken, createWatch, idle, inPolls, intervalMs } from "./support/watch.ts";
import { serverRule, showing, targetRule, watchAfter } from "./support/watch.ts";

const occupied = showing("occupied");
const flap = { changes: 2, withinMs: 20 * intervalMs };
const flapping = "e[fired]i[recovered]e[fired]i[recovered]e[fired]";

describe("an item of the outbox", () => {
  it("says all that is known of a server in error", () => {
    expect(watchAfter("e[fired]").outbox).toEqual([
      {
        receiver: "oncall",
        type: "incident.firing",
        rule: "server-error",
        severity: "critical",
        condition: "in error",
        detail: null,
        unmonitored: null,
        servers: null,
        summaryTemplate: null,
        runbookUrlTemplate: null,
        causedAtMs: startMs + intervalMs,
        share: { count: 1, total: 1, atMs: startMs + intervalMs },
        incident: {
          id: "incident-1",
          state: "firing",
          subject: "server",
          trouble: null,
          region: "us",
          key: "research",
          sandboxId: "box",
          serverId: "a",
          serverName: "github",
          benchmark: null,
          status: "error",
          previousStatus: "absent",
          startedAtMs: startMs + intervalMs,
          resolvedAtMs: null,
          resolvedReason: null,
          receiver: null,
          probe: null,
          flapping: false,
          acknowledgedBy: null,
        },
      },
    ]);
  });

  const after = (polls: number): number => startMs + polls * intervalMs;
  const resolved = { type: "incident.resolved", condition: "in error" } as const;
  const ofTarget = { subject: "target", sandboxId: null, serverName: null, status: null } as const;
  const oncePerPoll = { for: inPolls(1) };

  it.each<
    [
      what: string,
      story: string,
      incident: Partial<NotifiedIncident>,
      item?: Partial<OutboxItem>,
      rule?: Rule,
    ]
  >([
    [
      "a recovery",
      "e[fired]i[recovered]",
      { state: "resolved", status: "idle", previousStatus: "error", resolvedAtMs: after(2) },
      resolved,
    ],
    [
      "a server that is gone",
      "e[fired]..[gone]",
      { status: "absent", previousStatus: "error", resolvedReason: "gone" },
      resolved,
    ],
    [
      "a server that flaps",
      flapping,
      { flapping: true },
      { condition: "flapping", detail: "in error 3 times in 10m" },
      serverRule({ flap }),
    ],
    ["one that was acknowledged", "e[fired]Ki[recovered]", { acknowledgedBy: "ada" }, resolved],
    [
      "one that a silence ended",
      "e[fired](e[silenced, muted]",
      { status: "error", resolvedReason: "silenced" },
      resolved,
    ],
    [
      "one that outlived a silence",
      "(e[muted])e[fired]",
      { id: "incident-1", startedAtMs: after(1), previousStatus: "absent" },
      { type: "incident.firing", causedAtMs: after(2) },
    ],
    [
      "one that began before a silence",
      "e[fired](e[silenced, muted])e[fired]",
      { id: "incident-2", startedAtMs: after(1) },
    ],
    [
      "a target that is down",
      "i![opened]!x[fired]",
      { ...ofTarget, startedAtMs: after(2) },
      { condition: "down", detail: "auth, 3 polls in a row", severity: "warning" },
      targetRule(),
    ],
    ["a target that is up again", "![fired]i[recovered]", ofTarget, {}, targetRule(oncePerPoll)],
    [
      "a refused key",
      "x[fired]",
      ofTarget,
      { condition: "refused by the service" },
      targetRule({ ...oncePerPoll, trouble: "auth" }),
    ],
  ])("is about %s", (_, story, incident, item = {}, rule = serverRule()) => {
    const { outbox } = watchAfter(story, { rules: [rule] });
    expect(outbox.at(-1)).toMatchObject({ ...item, incident });
  });

  it("is in words of its own for partial listings, also when their rule is removed", () => {
    const rules = [targetRule({ trouble: "partial", for: inPolls(1) })];
    const watch = watchAfter("I[fired]i[recovered]I[fired]", { rules });
    watch.restart({ rules: [] });
    expect(watch.outbox.map((item) => summarize([item], null))).toEqual([
      "us/research partially listed since 2026-11-20 09:30 UTC",
      "Resolved after 30 s: us/research partially listed",
      "us/research partially listed since 2026-11-20 09:31 UTC",
      "Alert ended: us/research partially listed",
    ]);
  });
});

describe("what is written", () => {
  it("of an incident is its whole life", () => {
    const watch = createWatch({ rules: [serverRule({ for: inPolls(2) })] });
    const [opened, fired, resolved] = [broken, broken, idle].map((each) => watch.see(each));
    const startedAtMs = opened?.at.utcMs;
    const firedAtMs = fired?.at.utcMs;
    expect(opened?.incidents.written).toMatchObject([
      { startedAtMs, firedAtMs: null, resolvedAtMs: null, receivers: [], status: "error" },
    ]);
    expect(fired?.incidents.written).toMatchObject([
      { startedAtMs, firedAtMs, resolvedAtMs: null, receivers: ["oncall"] },
    ]);
    expect(resolved?.incidents.written).toMatchObject([
      { startedAtMs, firedAtMs, resolvedAtMs: resolved?.at.utcMs, status: "idle" },
    ]);
  });

  it("is nothing of incidents that go on, or while the target is down", () => {
    const slow = serverRule({ name: "slow", for: inPolls(9) });
    const watch = watchAfter("e[fired, opened slow]", { rules: [serverRule(), slow] });
    const { snapshot } = watch.state;
    const changes = { written: [], dropped: [], flaps: [], steps: [], outbox: [] };
    const nothing = { ...changes };
    expect(watch.see(broken).incidents).toEqual(nothing);
    const down = watch.fail();
    expect([down.incidents, down.diff.servers]).toEqual([nothing, []]);
    expect(down.snapshot).toBe(snapshot);
  });

  it("of flapping is each time that the condition held, as far as it decides, until it is past", () => {
    const watch = createWatch({ rules: [serverRule({ flap })] });
    const written = [broken, broken, idle, idle, broken].map(
      (server) => watch.see(server, showing("idle", "b")).incidents.flaps.length,
    );
    expect(written).toEqual([1, 0, 1, 0, 1]);
    for (let poll = 0; poll < 8; poll += 1) watch.see(poll % 2 === 0 ? idle : broken);
    expect([...watch.state.flaps.values()].map(({ enteredMs }) => enteredMs.length)).toEqual([3]);
    for (let poll = 0; poll < 45; poll += 1) watch.see(idle);
    expect(watch.state.flaps.size).toBe(0);
  });
});

describe("the moment of a change", () => {
  const dwellsAfter = (stepMs: number) => {
    const watch = createWatch();
    for (const server of [idle, occupied]) watch.see(server);
    watch.stepUtc(stepMs);
    const verdicts = [idle, occupied, idle].map((server) => watch.see(server));
    return verdicts.map(({ diff, gap }) => ({
      dwellMs: diff.changes[0]?.dwellMs,
      momentKnown: diff.changes[0]?.after?.since.momentKnown,
      gapMs: gap.opened && (gap.opened.toMs ?? 0) - gap.opened.fromMs,
    }));
  };
  const known = { dwellMs: intervalMs, momentKnown: true, gapMs: null };

  it("is unknown where the machine was suspended meanwhile, and so are the dwell times before and after", () => {
    const hourMs = 3_600_000;
    const unknown = { dwellMs: null, momentKnown: false, gapMs: hourMs };
    expect(dwellsAfter(hourMs)).toEqual([unknown, { ...known, dwellMs: null }, known]);
  });

  it.each([
    ["corrected by less than a second", 900],
    ["set back", -3_600_000],
  ])("is known where the wall clock was %s", (_, stepMs) => {
    expect(dwellsAfter(stepMs)).toEqual([known, known, known]);
  });
});

describe("a target", () => {
  it("is reported lost once and returned once, and lost again by a process that starts down", () => {
    const watch = createWatch();
    const poll = (move: "up" | "down") => (move === "up" ? watch.see(idle) : watch.fail());
    const before = (["up", "down", "down"] as const).map((move) => poll(move).reachability);
    expect(before).toEqual([null, "went_down", null]);
    watch.restart();
    const after = (["down", "down", "up"] as const).map((move) => poll(move).reachability);
    expect(after).toEqual(["went_down", null, "came_back"]);
  });

  it("with partial listings is not down: its probes are notified of for themselves", () => {
    const rules = [
      targetRule({ name: "partial", trouble: "partial", for: inPolls(1) }),
      targetRule({ for: inPolls(1) }),
    ];
    const watch = watchAfter("I[fired partial]", { rules });
    expect(isNotifiedAsDown(watch.state.incidents.values())).toBe(false);
    watch.fail();
    expect(isNotifiedAsDown(watch.state.incidents.values())).toBe(true);
  });

  it.each<[string, lastMs: number | null, complete: boolean, failures: number, object]>([
    ["is that of the monotonic clock", 1_000, true, 0, { isUp: true, isFullyObserved: true }],
    ["is observed in part", 1_000, false, 0, { isUp: true, isFullyObserved: false }],
    ["is unobserved", 1_000, false, 1, { isUp: false, isFullyObserved: false }],
    ["is known from the timestamps", null, true, 0, { isUp: false, isFullyObserved: false }],
  ])("was polled before; the time since then %s", (_, lastMs, lastComplete, failures, observed) => {
    const known = { failuresInARow: failures, lastPollAtMs: startMs, lastComplete };
    const progress = { ...nothingKnown.progress, ...known };
    const state = { ...createWatch().state, progress, lastPollMonotonicMs: lastMs };
    const [ms, sinceLastPollMs] = lastMs === null ? [0, 90_000] : [30_000, 30_000];
    const elapsed = elapsedSince(state, { utcMs: startMs + 90_000, monotonicMs: 31_000 });
    expect(elapsed).toEqual({ ms, sinceLastPollMs, ...observed });
    const setBack = elapsedSince(state, { utcMs: startMs - 5, monotonicMs: 31_000 });
    expect(setBack.sinceLastPollMs).toBe(ms);
  });
});
