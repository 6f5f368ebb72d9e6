import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { incidentKey } from "../../src/alerts/incident.ts";
import { retireProbe } from "../../src/alerts/judge-probe.ts";
import type { ProbeVerdict } from "../../src/alerts/judge-probe.ts";
import type { ProbeOutcome } from "../../src/alerts/probe.ts";
import type { ProbeRule } from "../../src/alerts/rule.ts";
import { restoredFrom } from "./support/restored-probe.ts";
import {
  answered,
  failing,
  judgeProbesBy,
  login,
  probeFailing,
  probeSteps,
  ranProbe,
  backingOff,
  unsent,
} from "../support/probes.ts";
import type { RunOptions } from "../support/probes.ts";

function stepsOf(
  rule: Partial<ProbeRule>,
  ...runs: readonly (readonly [ProbeOutcome, RunOptions?])[]
) {
  const { run } = ranProbe(judgeProbesBy([{ ...probeFailing, ...rule }]));
  return runs.map(([outcome, options]) => probeSteps(run(outcome, options).incidents).join());
}

describe("a run of a probe", () => {
  it("that fails in as many runs in a row as the rule says is told of, and its end too", () => {
    const bad = [failing()] as const;
    expect(stepsOf({}, bad, bad, bad, bad, [answered])).toEqual([
      "opened probe-failing",
      "",
      "fired probe-failing",
      "",
      "resolved probe-failing",
    ]);
  });

  it("that succeeds in between begins the count anew", () => {
    const bad = [failing()] as const;
    expect(stepsOf({}, bad, bad, [answered], bad, bad).join()).not.toContain("fired");
  });

  it("counts time, where the rule names one", () => {
    const hold = { kind: "duration", ms: 120_000 } as const;
    const bad = [failing()] as const;
    expect(stepsOf({ for: hold }, bad, bad, bad)).toEqual([
      "opened probe-failing",
      "",
      "fired probe-failing",
    ]);
  });

  it("for which nothing could be sent has failed like any other", () => {
    const { run } = ranProbe(
      judgeProbesBy([{ ...probeFailing, for: { kind: "polls", polls: 1 } }]),
    );
    const { result, incidents } = run(unsent);
    expect(result).toMatchObject({
      reason: "rate_limited",
      detail: "nothing was sent",
      durationMs: null,
    });
    expect(incidents.outbox[0]).toMatchObject({
      condition: "failing (rate_limited)",
      incident: { subject: "probe", probe: "login", region: "us", key: "research", status: null },
    });
  });

  it("whose answer is not as expected says which expectation was not met", () => {
    const probe = {
      ...login,
      expect: { ...login.expect, fields: [{ path: ["a(b)"], must: { be: "present" } as const }] },
    };
    const rule = { ...probeFailing, for: { kind: "polls", polls: 1 } } as const;
    const { run } = ranProbe(judgeProbesBy([rule]), { probe });
    const { result, incidents } = run(answered);
    expect(result).toMatchObject({ reason: "unmet", detail: "field a(b) is not there" });
    expect(incidents.outbox[0]?.condition).toBe("failing (field ab is not there)");
  });

  it("that is refused as expected has succeeded, and one that is not has failed", () => {
    const probe = { ...login, expect: { ...login.expect, status: 404 } };
    const { run } = ranProbe(judgeProbesBy(), { probe });
    expect(run(failing("http_error", 404)).result?.reason).toBeNull();
    expect(run(failing("http_error", 410)).result?.reason).toBe("http_error");
    expect(run(failing("timeout", null)).result?.reason).toBe("timeout");
    expect(run(answered).result).toMatchObject({ reason: "unmet", detail: "HTTP 200, not 404" });
  });

  it("that breaks off after the head of a 200 has failed, although 200 is the status expected", () => {
    const { run } = ranProbe();
    expect(run(failing("network", 200)).result?.reason).toBe("network");
  });

  it("begins to fail, and works again, once each", () => {
    const { run } = ranProbe();
    const turns = [answered, failing(), failing(), answered, answered].map(
      (outcome) => run(outcome).turn,
    );
    expect(turns).toEqual([null, "failed", null, "recovered", null]);
  });

  it("is no rule's business that is about another probe, region or key", () => {
    for (const match of [{ probe: ["brand"] }, { region: ["eu"] }, { key: ["e*"] }]) {
      expect(stepsOf({ match }, [failing()])).toEqual([""]);
    }
    expect(stepsOf({ match: { probe: ["log*"], key: ["research"] } }, [failing()])).toEqual([
      "opened probe-failing",
    ]);
  });

  it("keeps firing for as long as the rule says, and reminds", () => {
    const rule = {
      for: { kind: "polls", polls: 1 },
      keepFiringForMs: 60_000,
      remindEveryMs: 120_000,
    } as const;
    expect(
      stepsOf(rule, [failing()], [failing()], [failing()], [answered], [answered], [answered]),
    ).toEqual([
      "fired probe-failing",
      "",
      "reminded probe-failing",
      "",
      "resolved probe-failing",
      "",
    ]);
  });

  it("that comes and goes too often is told of once as flapping, and once when it settled", () => {
    const rule = {
      for: { kind: "polls", polls: 1 },
      flap: { changes: 2, withinMs: 600_000 },
    } as const;
    const { run, watched } = ranProbe(judgeProbesBy([{ ...probeFailing, ...rule }]));
    const steps: string[] = [];
    for (let time = 0; time < 6; time += 1) {
      steps.push(...probeSteps(run(failing()).incidents), ...probeSteps(run(answered).incidents));
    }
    expect(steps).toEqual([
      "fired probe-failing",
      "resolved probe-failing",
      "fired probe-failing",
      "resolved probe-failing",
      "fired probe-failing",
    ]);
    for (let minute = 0; minute < 10; minute += 1)
      steps.push(...probeSteps(run(answered).incidents));
    expect(steps.slice(5)).toEqual(["resolved probe-failing"]);
    run(answered);
    expect(watched.state.flaps.size).toBe(0);
  });
});

describe("while somebody has been told that the target cannot be seen", () => {
  const told: RunOptions = { targetIsNotified: true };
  const once = { for: { kind: "polls", polls: 1 } } as const;

  it.each(["timeout", "network", "auth", "rate_limited", "server_error"] as const)(
    "a run that fails for %s opens nothing",
    (reason) => {
      expect(stepsOf(once, [failing(reason), told])).toEqual([""]);
      expect(stepsOf(once, [failing(reason)])).toEqual(["fired probe-failing"]);
    },
  );

  it("a run that was answered, and not as expected, is told of", () => {
    expect(stepsOf(once, [failing("http_error", 404), told])).toEqual(["fired probe-failing"]);
    expect(stepsOf(once, [failing("invalid_body", 200), told])).toEqual(["fired probe-failing"]);
  });

  it("an incident neither ages nor reminds", () => {
    const bad = [failing()] as const;
    const hidden = [failing(), told] as const;
    expect(stepsOf({}, bad, bad, hidden, hidden, bad).join()).toBe(
      "opened probe-failing,,,,fired probe-failing",
    );
    expect(stepsOf({ ...once, remindEveryMs: 60_000 }, bad, hidden, hidden, bad)).toEqual([
      "fired probe-failing",
      "",
      "",
      "reminded probe-failing",
    ]);
  });

  it("a run that succeeds ends an incident all the same: it was seen to work", () => {
    expect(stepsOf(once, [failing()], [answered, told])).toEqual([
      "fired probe-failing",
      "resolved probe-failing",
    ]);
  });
});

describe("after a restart", () => {
  it("the incident goes on: it is neither told again nor forgotten", () => {
    const judge = judgeProbesBy();
    const before = ranProbe(judge);
    for (let time = 0; time < 3; time += 1) before.run(failing());
    const after = ranProbe(judge, { restored: restoredFrom(before.watched) });
    expect(probeSteps(after.run(failing()).incidents)).toEqual([]);
    expect(probeSteps(after.run(answered).incidents)).toEqual(["resolved probe-failing"]);
  });

  it("runs before it count, and the time in which nothing ran does not", () => {
    const rules = [
      probeFailing,
      { ...probeFailing, name: "long", for: { kind: "duration", ms: 180_000 } } as const,
    ];
    const judge = judgeProbesBy(rules);
    const before = ranProbe(judge);
    before.run(failing());
    before.run(failing());
    const after = ranProbe(judge, { restored: restoredFrom(before.watched) });
    expect(probeSteps(after.run(failing(), { seconds: 9_999 }).incidents)).toEqual([
      "fired probe-failing",
    ]);
    expect(probeSteps(after.run(failing()).incidents)).toEqual([]);
    expect(probeSteps(after.run(failing()).incidents)).toEqual(["fired long"]);
  });
});

describe("a rule that is no more", () => {
  it.each<[string, readonly ProbeRule[]]>([
    ["because it was removed", []],
    ["because its time is another", [{ ...probeFailing, for: { kind: "polls", polls: 9 } }]],
    ["because it is about other probes", [{ ...probeFailing, match: { probe: ["brand"] } }]],
  ])("%s ends its incidents and says so", (_, rules) => {
    const { run, watched } = ranProbe(judgeProbesBy());
    for (let time = 0; time < 3; time += 1) run(failing());
    const retired = retireProbe(watched.state, 5, judgeProbesBy(rules));
    expect(retired.written).toMatchObject([
      { phase: { name: "resolved", reason: "rule_removed" } },
    ]);
    expect(retired.outbox).toMatchObject([{ type: "incident.resolved", condition: "failing" }]);
    expect(probeSteps(retireProbe(watched.state, 5, judgeProbesBy()))).toEqual([]);
  });
});

describe("whatever runs bring, with restarts in between", () => {
  const outcomes = fc.oneof(
    { weight: 3, arbitrary: fc.constant(answered) },
    fc.constantFrom(
      failing(),
      failing("auth", 401),
      failing("http_error", 404),
      unsent,
      backingOff,
    ),
  );
  const moves = fc.array(
    fc.record({
      outcome: outcomes,
      seconds: fc.integer({ min: 1, max: 300 }),
      targetIsNotified: fc.boolean(),
      restart: fc.boolean(),
    }),
    { maxLength: 60 },
  );
  const rules = fc.record({
    for: fc.oneof(
      fc.record({ kind: fc.constant("polls" as const), polls: fc.integer({ min: 1, max: 4 }) }),
      fc.record({ kind: fc.constant("duration" as const), ms: fc.nat(600_000) }),
    ),
    keepFiringForMs: fc.constantFrom(0, 90_000),
    remindEveryMs: fc.constantFrom(null, 120_000),
    flap: fc.constantFrom(null, { changes: 1, withinMs: 900_000 }),
  });

  it("nothing is resolved that did not fire, nothing fires twice, and one incident is open at most", () => {
    fc.assert(
      fc.property(moves, rules, (played, settings) => {
        const rule = { ...probeFailing, ...settings };
        const judge = judgeProbesBy([rule]);
        let probe = ranProbe(judge);
        const told = new Map<string, string>();
        for (const { outcome, seconds, targetIsNotified, restart } of played) {
          if (restart) probe = ranProbe(judge, { restored: restoredFrom(probe.watched) });
          const verdict = probe.run(outcome, { seconds, targetIsNotified });
          follow(verdict, told);
          expect(probe.watched.state.incidents.size).toBeLessThanOrEqual(1);
          for (const key of probe.watched.state.incidents.keys()) {
            expect(key).toBe(incidentKey(rule.name, probe.watched.subject));
          }
        }
      }),
      { numRuns: 200 },
    );
  });

  it("restarts change nothing of what is told of runs in a row", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(outcomes, fc.boolean()), { maxLength: 40 }), (played) => {
        const [plain, restarted] = [false, true].map((mayRestart) => {
          const judge = judgeProbesBy();
          let probe = ranProbe(judge);
          return played.flatMap(([outcome, restart]) => {
            if (mayRestart && restart) {
              probe = ranProbe(judge, { restored: restoredFrom(probe.watched) });
            }
            return probeSteps(probe.run(outcome).incidents);
          });
        });
        expect(restarted).toEqual(plain);
      }),
    );
  });
});

/** @param told the last message about each incident */
function follow({ incidents }: ProbeVerdict, told: Map<string, string>): void {
  for (const { type, incident } of incidents.outbox) {
    const before = told.get(incident.id) ?? "nothing";
    const allowed =
      type === "incident.firing" ? ["nothing"] : ["incident.firing", "incident.reminder"];
    expect(allowed).toContain(before);
    told.set(incident.id, type);
  }
}
