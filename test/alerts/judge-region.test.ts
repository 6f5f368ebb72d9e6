import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { judgeRegion, type RegionTarget } from "../../src/alerts/judge-region.ts";
import { holdIncidents } from "../../src/alerts/open-incidents.ts";
import type { Hold } from "../../src/alerts/rule.ts";
import { noSuppressions } from "../../src/alerts/silence.ts";
import type { FailureReason } from "../../src/fleet/model.ts";
import { startMs } from "../support/fleet.ts";
import { runs } from "./support/runs.ts";
import { lasting, regionRule } from "./support/watch.ts";

const intervalMs = 30_000;

/** A target: up, or how often it failed, once in each interval, since which one, and how. */
type Shown = readonly [failures: number, sinceInterval?: number, reason?: FailureReason] | "up";

function targetsOf(shown: readonly Shown[]): readonly RegionTarget[] {
  return shown.map((each, index) => {
    const target = { region: "eu", key: `key-${index}` };
    if (each === "up") return { target, failuresInARow: 0, failure: null, servers: 150 };
    const [failuresInARow, since = 0, reason = "server_error"] = each;
    const sinceMs = startMs + since * intervalMs;
    const status = reason === "server_error" ? 503 : null;
    const lastMs = sinceMs + (failuresInARow - 1) * intervalMs;
    return { target, failuresInARow, failure: { sinceMs, lastMs, reason, status }, servers: 150 };
  });
}

/** A region that is judged again and again. */
function watchRegion(rule = regionRule()) {
  const held = holdIncidents([], []);
  let intervals = 1;
  return {
    judge(...shown: readonly Shown[]) {
      const state = { region: "eu", targets: targetsOf(shown), intervalMs, ...held };
      const options = {
        rules: [rule],
        suppressions: noSuppressions,
        newIncidentId: () => `incident-${intervals}`,
        receivers: new Map([["oncall", { sendResolved: true, sendAcknowledged: false }]]),
      };
      const verdict = judgeRegion(state, startMs + intervals * intervalMs, options);
      intervals += 1;
      held.apply(verdict.incidents);
      const steps = verdict.incidents.steps.map(({ step }) => step);
      const conditions = verdict.incidents.outbox.map(({ condition, detail, unmonitored }) =>
        [condition, detail, unmonitored].filter((each) => each !== null).join(", "),
      );
      const kinds = verdict.down.flatMap((each) => [...each.kinds.keys()]);
      return { steps, conditions, kinds, outbox: verdict.incidents.outbox };
    },
  };
}

describe("a region", () => {
  it.each<[string, readonly Shown[], Hold | null, boolean]>([
    ["all of whose targets fail", [[2], [1], [1]], null, true],
    ["of whose targets two fail", [[2], [2], "up", "up"], null, true],
    ["of whose targets one fails", [[9], "up", "up"], null, false],
    ["no target of which failed for long enough", [[1], [1]], null, false],
    ["a target of which failed for long enough", [[2], [1]], lasting(intervalMs), true],
    ["whose targets were not polled for that long", [[1], [1]], lasting(intervalMs), false],
    [
      "whose targets fail two intervals apart",
      [
        [3, 0],
        [1, 2],
      ],
      null,
      true,
    ],
    [
      "whose targets fail more than two intervals apart",
      [
        [4, -2],
        [1, 1],
      ],
      null,
      false,
    ],
    [
      "whose targets fail one after the other",
      [
        [9, -6],
        [5, -4],
        [3, -2],
        [1, 0],
      ],
      null,
      true,
    ],
    [
      "the key of which is refused for one",
      [
        [2, 0, "auth"],
        [2, 0, "server_error"],
      ],
      null,
      false,
    ],
    [
      "the keys of which are refused",
      [
        [2, 0, "auth"],
        [2, 0, "auth"],
      ],
      null,
      true,
    ],
    [
      "half of the keys of which are refused",
      [[2, 0, "auth"], [2, 0, "auth"], "up", "up"],
      null,
      true,
    ],
    [
      "fewer of the keys of which are refused",
      [[2, 0, "auth"], [2, 0, "auth"], "up", "up", "up"],
      null,
      false,
    ],
    [
      "that fails in several ways",
      [
        [2, 0, "timeout"],
        [2, 0, "server_error"],
      ],
      null,
      true,
    ],
    [
      "that limits one key",
      [
        [2, 0, "rate_limited"],
        [2, 0, "timeout"],
      ],
      null,
      false,
    ],
  ])("%s", (_, shown, hold, fires) => {
    const region = watchRegion(regionRule(hold ? { for: hold } : {}));
    expect(region.judge(...shown).steps).toEqual(fires ? ["fired"] : []);
  });

  it("says how many keys fail and why, and how many servers are unobserved", () => {
    const all = watchRegion().judge([2], [1]).conditions;
    expect(all).toEqual(["all 2 keys failing, HTTP 503, 300"]);
    const some = watchRegion().judge([2, 0, "timeout"], [1], "up").conditions;
    expect(some).toEqual(["2 of 3 keys failing, HTTP 503, timeout: key-0, key-1, 300"]);
  });

  it.each<[said: string, ...shown: Shown[]]>([
    ["all 3 keys failing, HTTP 503; one key was refused before, 450", [9, -5, "auth"], [2], [2]],
    ["all 3 keys failing, HTTP 503; one key was refused, 450", [2, 0, "auth"], [2], [2]],
    [
      "3 of 5 keys failing, HTTP 503: key-1, key-2; one key was rate limited before, 450",
      [9, -5, "rate_limited"],
      [2],
      [2],
      "up",
      "up",
    ],
    [
      "all 3 keys failing, auth; one key was failing otherwise, 450",
      [2, 0, "auth"],
      [2, 0, "auth"],
      [2],
    ],
  ])("counts keys that fail for a reason of their own: %s", (said, ...shown) => {
    expect(watchRegion().judge(...shown).conditions).toEqual([said]);
  });

  it("starts with the first failure of its targets, also if it is judged later", () => {
    const started = (...shown: readonly Shown[]) =>
      watchRegion()
        .judge(...shown)
        .outbox.map(({ incident }) => (incident.startedAtMs - startMs) / intervalMs);
    expect(started([3, 0], [2, 1], "up")).toEqual([0]);
    expect(started([9, -9], [3, 0], [2, 1])).toEqual([0]);
    expect(started([2, 99], [2, 99])).toEqual([1]);
  });

  it.each<[string, Shown, string]>([
    ["is up", "up", "failing"],
    ["has one target that fails", [3], "failing as a whole"],
  ])("that %s again says what has ended", (_, shown, condition) => {
    const region = watchRegion();
    region.judge([2], [2]);
    expect(region.judge("up", shown).conditions).toEqual([condition]);
  });

  it("stays one incident while targets join and recover, and resolves when fewer than two fail", () => {
    const region = watchRegion();
    expect(region.judge([2], [1], "up").steps).toEqual(["fired"]);
    expect(region.judge([3], [2], [1, 99]).steps).toEqual([]);
    expect(region.judge([4], "up", [2, 99]).steps).toEqual([]);
    expect(region.judge([5], "up", "up").steps).toEqual(["resolved"]);
  });

  it("ends with its rule when none of its targets is configured any more", () => {
    const region = watchRegion();
    region.judge([2], [2]);
    const reasons = region.judge().outbox.map(({ incident }) => incident.resolvedReason);
    expect(reasons).toEqual(["rule_removed"]);
  });

  it("explains the failures that several targets have in common, not that of one refused key", () => {
    const region = watchRegion();
    region.judge([2], [1], "up");
    expect(region.judge([3], [2], [1, 0, "auth"]).kinds).toEqual(["outage"]);
  });

  it("is notified of at most three times in an hour, however its targets fail", () => {
    fc.assert(
      fc.property(runs, (failing) => {
        const region = watchRegion(regionRule({ flap: { changes: 1, withinMs: 3_600_000 } }));
        const at = failing.flatMap((fails, index) => {
          const { outbox } = fails ? region.judge([2], [2]) : region.judge("up", "up");
          return outbox.map(() => index);
        });
        for (const [index, first] of at.entries()) {
          const fourth = at[index + 3] ?? Number.POSITIVE_INFINITY;
          expect(fourth - first).toBeGreaterThanOrEqual(120);
        }
      }),
    );
  });
});
