import { describe, expect, it } from "vitest";
import { isNotifiedAsDown } from "../../src/alerts/incident.ts";
import { summarize } from "../../src/alerts/notification-summary.ts";
import { elapsedSince, nothingKnown } from "../../src/alerts/target-state.ts";
import { startMs } from "../support/fleet.ts";
import { changesOf } from "../support/listing.ts";
import { broken, createWatch, idle, inPolls, intervalMs } from "./support/watch.ts";
import { serverRule, showing, targetRule, watchAfter } from "./support/watch.ts";
import type { Watch, WatchOptions } from "./support/watch.ts";

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
        summaryTemplate: null,
        runbookUrlTemplate: null,
        causedAtMs: startMs + intervalMs,
        incident: {
          id: "incident-1",
          state: "firing",
          subject: "server",
          region: "us",
          key: "research",
          sandboxId: "box",
          serverId: "a",
          serverName: "github",
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

  it.each<[what: string, story: string, last: object, options?: WatchOptions]>([
    [
      "a recovery",
      "e[fired]i[recovered]",
      {
        type: "incident.resolved",
        condition: "in error",
        incident: {
          state: "resolved",
          status: "idle",
          previousStatus: "error",
          startedAtMs: startMs + intervalMs,
          resolvedAtMs: startMs + 2 * intervalMs,
          resolvedReason: "recovered",
        },
      },
    ],
    [
      "a server that is gone",
      "e[fired]..[gone]",
      {
        condition: "in error",
        incident: { status: "absent", previousStatus: "error", resolvedReason: "gone" },
      },
    ],
    [
      "a server that flaps",
      flapping,
      { condition: "flapping (in error 3 times in 10m)", incident: { flapping: true } },
      { rules: [serverRule({ flap })] },
    ],
    [
      "a resolved incident that was acknowledged",
      "e[fired]Ki[recovered]",
      { type: "incident.resolved", incident: { id: "incident-1", acknowledgedBy: "ada" } },
    ],
    [
      "an incident that a silence ended",
      "e[fired](e[silenced, muted]",
      { condition: "in error", incident: { status: "error", resolvedReason: "silenced" } },
    ],
    [
      "an incident that outlived a silence",
      "(e[muted])e[fired]",
      {
        type: "incident.firing",
        causedAtMs: startMs + 2 * intervalMs,
        incident: { id: "incident-1", startedAtMs: startMs + intervalMs, previousStatus: "absent" },
      },
    ],
    [
      "an incident that began before a silence",
      "e[fired](e[silenced, muted])e[fired]",
      { incident: { id: "incident-2", startedAtMs: startMs + intervalMs } },
    ],
    [
      "a target that is down",
      "i![opened]!x[fired]",
      {
        condition: "down (auth)",
        severity: "warning",
        incident: {
          subject: "target",
          sandboxId: null,
          serverId: null,
          serverName: null,
          status: null,
          previousStatus: null,
          startedAtMs: startMs + 2 * intervalMs,
        },
      },
      { rules: [targetRule()] },
    ],
    [
      "a target that is up again",
      "![opened]!![fired]i[recovered]",
      { condition: "down", incident: { status: null, previousStatus: null } },
      { rules: [targetRule()] },
    ],
    [
      "a refused key",
      "x[fired]",
      { condition: "refused by the service" },
      { rules: [targetRule({ trouble: "auth", for: inPolls(1) })] },
    ],
  ])("is about %s", (_what, story, last, options) => {
    expect(watchAfter(story, options).outbox.at(-1)).toMatchObject(last);
  });

  it("is in words of its own for partial listings, also when their rule is removed", () => {
    const rules = [targetRule({ trouble: "partial", for: inPolls(1) })];
    const watch = watchAfter("I[fired]i[recovered]I[fired]", { rules });
    watch.restart({ rules: [] });
    expect(watch.outbox.map((item) => summarize([item]))).toEqual([
      "us (research) partially listed",
      "us (research) completely listed again",
      "us (research) partially listed",
      "alert ended for us (research) partially listed",
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
    const nothing = { written: [], dropped: [], flaps: [], steps: [], outbox: [] };
    expect(watch.see(broken).incidents).toEqual(nothing);
    const down = watch.fail();
    expect([down.incidents, down.diff.servers]).toEqual([nothing, []]);
    expect(down.snapshot).toBe(snapshot);
  });

  it("of flapping is each entry, as far as it decides, until it is past", () => {
    const watch = createWatch({ rules: [serverRule({ flap })] });
    const written = [broken, broken, idle, idle, broken].map(
      (server) => watch.see(server, showing("idle", "b")).incidents.flaps.length,
    );
    expect(written).toEqual([1, 0, 0, 0, 1]);
    for (let poll = 0; poll < 8; poll += 1) watch.see(poll % 2 === 0 ? idle : broken);
    expect([...watch.state.flaps.values()].map(({ enteredMs }) => enteredMs.length)).toEqual([3]);
    for (let poll = 0; poll < 21; poll += 1) watch.see(idle);
    expect(watch.state.flaps.size).toBe(0);
  });
});

describe("a target", () => {
  it("is reported lost once and returned once, and lost again by a process that starts down", () => {
    const watch = createWatch();
    const reported = [
      watch.see(idle),
      watch.fail(),
      watch.fail(),
      (watch.restart(), watch.fail()),
      watch.fail(),
      watch.see(idle),
    ];
    expect(reported.map(({ reachability }) => reachability)).toEqual([
      null,
      "went_down",
      null,
      "went_down",
      null,
      "came_back",
    ]);
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

describe("how long a status lasted", () => {
  it.each<[string, (watch: Watch) => unknown, number | null]>([
    ["is known between complete listings", (watch) => watch.see(idle), 2 * intervalMs],
    ["is not known after a failed poll", (watch) => watch.fail(), null],
    ["is not known after a partial listing", (watch) => watch.seePart(idle), null],
    ["is not known across a restart", (watch) => watch.restart(), null],
  ])("%s", (_sentence, look, dwellMs) => {
    const watch = createWatch();
    watch.see();
    watch.see(idle);
    look(watch);
    expect(changesOf(watch.see(broken).diff)).toMatchObject([
      { from: "idle", to: "error", dwellMs },
    ]);
  });

  it("is not known from a partial listing, and an unknown status is one like any other", () => {
    const watch = watchAfter(".i");
    const changes = [watch.seePart(showing("unknown")), watch.see(broken)].map(({ diff }) =>
      changesOf(diff),
    );
    expect(changes).toMatchObject([
      [{ from: "idle", to: "unknown", dwellMs: null }],
      [{ from: "unknown", to: "error", dwellMs: null }],
    ]);
  });
});
