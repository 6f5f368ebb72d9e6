import { describe, expect, it } from "vitest";
import { isNotifiedAsDown } from "../../src/alerts/incident.ts";
import { summarize } from "../../src/alerts/notification-summary.ts";
import { inPolls, lasting, listedServer, targetRule } from "./support/samples.ts";
import { stepsOf } from "./support/steps.ts";
import { createWatch, intervalMs } from "./support/watch.ts";
import type { Watch } from "./support/watch.ts";

const rule = targetRule({ name: "target-partial", trouble: "partial", for: inPolls(10) });
const idle = listedServer("a", "idle");

function seePart(watch: Watch, polls: number): readonly string[] {
  return Array.from({ length: polls }, () => watch.seePart(idle)).flatMap((verdict) =>
    stepsOf(verdict.incidents),
  );
}

const fired = "fired target-partial";
const resolved = "resolved target-partial (recovered)";

describe("a target whose listings are partial", () => {
  it("fires after as many in a row as its rule says, and resolves at the first complete one", () => {
    const watch = createWatch({ rules: [rule] });
    expect(seePart(watch, 9)).toEqual(["opened target-partial"]);
    expect(seePart(watch, 1)).toEqual([fired]);
    expect(seePart(watch, 20)).toEqual([]);
    expect(stepsOf(watch.see(idle).incidents)).toEqual([resolved]);
    expect(watch.outbox.map((item) => summarize([item]))).toEqual([
      "us (research) partially listed",
      "us (research) completely listed again",
    ]);
  });

  it("starts over when a complete listing came in between", () => {
    const watch = createWatch({ rules: [rule] });
    seePart(watch, 9);
    expect(stepsOf(watch.see(idle).incidents)).toEqual(["dropped target-partial"]);
    expect(seePart(watch, 9)).toEqual(["opened target-partial"]);
  });

  it("goes on counting, and fires once, over restarts", () => {
    const watch = createWatch({ rules: [rule] });
    const steps = Array.from({ length: 12 }, () => {
      watch.restart();
      return seePart(watch, 1);
    });
    expect(steps.flat()).toEqual(["opened target-partial", fired]);
  });

  it("is neither partial nor complete by a failed poll", () => {
    const watch = createWatch({ rules: [rule] });
    seePart(watch, 9);
    for (let polls = 0; polls < 5; polls += 1) expect(stepsOf(watch.fail().incidents)).toEqual([]);
    expect(seePart(watch, 1)).toEqual([fired]);
    expect(stepsOf(watch.fail().incidents)).toEqual([]);
    expect(stepsOf(watch.see(idle).incidents)).toEqual([resolved]);
  });

  it("can be judged by a duration as well", () => {
    const watch = createWatch({ rules: [{ ...rule, for: lasting(2 * intervalMs) }] });
    expect(seePart(watch, 2)).toEqual(["opened target-partial"]);
    expect(seePart(watch, 1)).toEqual([fired]);
  });

  it("is not down: its probes are notified of for themselves", () => {
    const down = targetRule({ for: inPolls(1) });
    const partial = createWatch({ rules: [{ ...rule, for: inPolls(1) }, down] });
    seePart(partial, 1);
    expect(isNotifiedAsDown(partial.state.incidents.values())).toBe(false);
    partial.fail();
    expect(isNotifiedAsDown(partial.state.incidents.values())).toBe(true);
  });

  it("is named as what it was when its rule is removed", () => {
    const watch = createWatch({ rules: [{ ...rule, for: inPolls(1) }] });
    seePart(watch, 1);
    watch.restart({ rules: [] });
    expect(summarize(watch.outbox.slice(-1))).toBe(
      "alert ended for us (research) partially listed",
    );
  });
});
