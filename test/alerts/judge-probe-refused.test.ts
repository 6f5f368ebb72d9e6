import { describe, expect, it } from "vitest";
import type { ProbeOutcome } from "../../src/alerts/probe.ts";
import type { Hold } from "../../src/alerts/rule.ts";
import {
  answered,
  backingOff,
  failing,
  judgeProbesBy,
  probeFailing,
  probeSteps,
  ranProbe,
} from "../support/probes.ts";

const refused = failing("auth", 403);

function stepsOf(hold: Hold, ...runs: readonly ProbeOutcome[]): readonly string[] {
  const { run } = ranProbe(judgeProbesBy([{ ...probeFailing, for: hold }]));
  return runs.map((outcome) => probeSteps(run(outcome).incidents).join());
}

describe("a run of a probe that is not sent, as the key is refused,", () => {
  it("is none of the runs that a rule counts", () => {
    const runs = [refused, backingOff, backingOff, refused, backingOff, refused];
    expect(stepsOf({ kind: "polls", polls: 3 }, ...runs)).toEqual([
      "opened probe-failing",
      "",
      "",
      "",
      "",
      "fired probe-failing",
    ]);
  });

  it("lets the time of a rule go on", () => {
    const runs = [refused, backingOff, backingOff, answered];
    expect(stepsOf({ kind: "duration", ms: 120_000 }, ...runs)).toEqual([
      "opened probe-failing",
      "",
      "fired probe-failing",
      "resolved probe-failing",
    ]);
  });

  it("is not notified beside a target that is down, as a refusal is not", () => {
    const hold: Hold = { kind: "duration", ms: 60_000 };
    const { run } = ranProbe(judgeProbesBy([{ ...probeFailing, for: hold }]));
    run(refused);
    const { incidents, result } = run(backingOff, { targetIsNotified: true });
    expect([probeSteps(incidents), result]).toEqual([[], null]);
  });
});
