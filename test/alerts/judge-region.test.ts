import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { judgeRegion, type RegionTarget } from "../../src/alerts/judge-region.ts";
import { holdIncidents } from "../../src/alerts/target-state.ts";
import type { Hold, RegionRule } from "../../src/alerts/rule.ts";
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
function watchRegion(first = regionRule()) {
  let rule = first;
  const held = holdIncidents([], []);
  let intervals = 1;
  let suppressions = noSuppressions;
  return {
    silence(): void {
      const silenced = [{ match: { region: ["eu"] }, by: "ann", endsAtMs: Infinity }];
      suppressions = { ...noSuppressions, silenced };
    },
    configure: (changed: RegionRule): void => void (rule = changed),
    judge(...shown: readonly Shown[]) {
      const state = { region: "eu", targets: targetsOf(shown), ...held };
      const options = {
        rules: [rule],
        suppressions,
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
      return { steps, conditions, down: verdict.down, outbox: verdict.incidents.outbox };
    },
  };
}

describe("a region", () => {
  it.each<[string, readonly Shown[], Hold | null, boolean]>([
    ["all of whose targets fail", [[2], [2], [2]], null, true],
    ["half of whose targets fail", [[2], [2], "up", "up"], null, true],
    ["less than half of whose targets fail", [[9], [9], "up", "up", "up"], null, false],
    ["more than half of whose targets fail", [[2], [2], [2], "up", "up"], null, true],
    ["one of whose two targets fails", [[9], "up"], null, false],
    ["whose only target fails", [[9]], null, false],
    ["half of whose targets have not failed for long enough", [[2], [1], "up", "up"], null, false],
    ["half of whose targets have, and others have just begun to", [[2], [2], [1], [1]], null, true],
    ["half of whose targets have failed that long", [[2], [2], "up"], lasting(intervalMs), true],
    ["whose targets were not polled for that long", [[1], [1]], lasting(intervalMs), false],
    [
      "whose targets began to fail hours apart",
      [
        [900, -898],
        [2, 0],
      ],
      null,
      true,
    ],
    [
      "whose targets fail for different reasons",
      [
        [2, 0, "auth"],
        [2, 0, "rate_limited"],
        [2, 0, "timeout"],
      ],
      null,
      true,
    ],
  ])("%s", (_, shown, hold, fires) => {
    const region = watchRegion(regionRule(hold ? { for: hold } : {}));
    expect(region.judge(...shown).steps).toEqual(fires ? ["fired"] : []);
  });

  it("says how many keys fail and why, and how many servers are unobserved", () => {
    const all = watchRegion().judge([2], [2]).conditions;
    expect(all).toEqual(["both keys failing, HTTP 503, 300"]);
    const some = watchRegion().judge([2, 0, "timeout"], [2], "up").conditions;
    expect(some).toEqual(["2 of 3 keys failing, HTTP 503, timeout: key-0, key-1, 300"]);
    const others = watchRegion().judge([2], [2], [1, 1, "auth"]).conditions;
    expect(others).toEqual(["all 3 keys failing, HTTP 503, auth, 450"]);
  });

  it("starts when as many of its targets failed as must, also if it is judged later", () => {
    const started = (...shown: readonly Shown[]) =>
      watchRegion()
        .judge(...shown)
        .outbox.map(({ incident }) => (incident.startedAtMs - startMs) / intervalMs);
    expect(started([3, -1], [2, 0], "up")).toEqual([0]);
    expect(started([9, -9], [3, -1], [2, 0])).toEqual([-1]);
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

  it("stays one incident while targets join and recover, and resolves when less than half fail", () => {
    const region = watchRegion();
    expect(region.judge([2], [2], "up").steps).toEqual(["fired"]);
    expect(region.judge([3], [3], [1, 2]).steps).toEqual([]);
    expect(region.judge([4], "up", [2, 2]).steps).toEqual([]);
    expect(region.judge([5], "up", "up").steps).toEqual(["resolved"]);
  });

  it("ends with its rule when none of its targets is configured any more", () => {
    const region = watchRegion();
    region.judge([2], [2]);
    const reasons = region.judge().outbox.map(({ incident }) => incident.resolvedReason);
    expect(reasons).toEqual(["rule_removed"]);
  });

  it("has another incident as soon as its rule is another, under the same name", () => {
    const region = watchRegion();
    region.judge([2], [2]);
    region.configure(regionRule({ keepFiringForMs: intervalMs }));
    const { steps, down } = region.judge([3], [3]);
    expect(steps).toEqual(["resolved", "fired"]);
    expect(down).toEqual([{ incidentId: "incident-2", rule: "region-down" }]);
  });

  it("explains them also while its incident is silenced, from the first moment on", () => {
    const region = watchRegion();
    region.judge([2], [2]);
    region.silence();
    const { steps, down } = region.judge([3], [3]);
    expect(steps).toEqual(["resolved", "muted"]);
    expect(down).toEqual([{ incidentId: "incident-2", rule: "region-down" }]);
    expect(region.judge([4], [4]).down).toEqual(down);
  });

  it("explains the failures of its targets while it fails, not while its incident goes on", () => {
    const region = watchRegion(regionRule({ keepFiringForMs: 9 * intervalMs }));
    expect(region.judge([1], [1]).down).toEqual([]);
    expect(region.judge([2], [2]).down).toEqual([
      { incidentId: "incident-2", rule: "region-down" },
    ]);
    expect(region.judge([3], "up").down).toEqual([]);
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
