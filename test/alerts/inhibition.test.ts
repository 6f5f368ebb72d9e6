import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RegionsDown } from "../../src/alerts/silence.ts";
import type { Match } from "../../src/alerts/rule.ts";
import { runs } from "./support/runs.ts";
import { broken, createWatch, idle, inPolls, intervalMs, linesOf } from "./support/watch.ts";
import { regionRule, serverRule, stepsOf, targetRule, type Watch } from "./support/watch.ts";

describe("inhibition", () => {
  const down = targetRule({ for: inPolls(1) });
  const refused = targetRule({ name: "refused", trouble: "auth", for: inPolls(1) });
  const regionIsDown: RegionsDown = new Map([
    ["us", [{ incidentId: "region", rule: "region-down" }]],
  ]);
  const region = (receivers: readonly string[], match: Match = {}) =>
    regionRule({ receivers, match });
  const inhibited = (watch: Watch) =>
    [...watch.state.incidents.values()].map(({ rule, inhibitedBy }) => [rule, inhibitedBy]);

  it("that a target is down is not notified while it fires that its key is refused", () => {
    const watch = createWatch({ rules: [down, refused] });
    expect(stepsOf(watch.fail("auth").incidents)).toEqual([
      "fired refused",
      "inhibited target-down",
    ]);
    expect(inhibited(watch)).toEqual([
      ["refused", null],
      ["target-down", "incident-1"],
    ]);
    expect(linesOf(watch.outbox)).toEqual(["oncall firing incident-1"]);
    watch.see(idle);
    expect(linesOf(watch.outbox)).toEqual([
      "oncall firing incident-1",
      "oncall resolved incident-1",
    ]);
  });

  it("that a target is down is notified when the region is up again and the target is not", () => {
    const watch = createWatch({ rules: [down, region(["oncall"])] });
    watch.setRegionsDown(regionIsDown);
    watch.fail();
    watch.fail();
    expect(watch.outbox).toEqual([]);
    expect(inhibited(watch)).toEqual([["target-down", "region"]]);
    watch.setRegionsDown(new Map());
    watch.fail();
    expect(inhibited(watch)).toEqual([["target-down", null]]);
    expect(linesOf(watch.outbox)).toEqual(["oncall firing incident-1"]);
  });

  it("neither that a target is down nor that its key is refused is notified while its region is down", () => {
    const watch = createWatch({ rules: [down, refused, region(["oncall"])] });
    watch.setRegionsDown(regionIsDown);
    watch.fail("auth");
    expect(watch.outbox).toEqual([]);
    expect(inhibited(watch)).toContainEqual(["refused", "region"]);
    watch.setRegionsDown(new Map());
    expect(stepsOf(watch.fail("auth").incidents)).toEqual(["fired refused"]);
  });

  it("that a target is down is notified when the rule on its region is about other keys", () => {
    const watch = createWatch({ rules: [down, region(["oncall"], { key: ["batch"] })] });
    watch.setRegionsDown(regionIsDown);
    expect(stepsOf(watch.fail().incidents)).toEqual(["fired target-down"]);
  });

  it("leaves those to be notified whom the rule of the other incident does not notify", () => {
    const receivers = { oncall: true, chat: true };
    const rules = [{ ...down, receivers: ["oncall", "chat"] }, region(["chat"])];
    const watch = createWatch({ rules, receivers });
    watch.setRegionsDown(regionIsDown);
    expect(stepsOf(watch.fail().incidents)).toEqual(["fired target-down"]);
    expect(inhibited(watch)).toEqual([["target-down", "region"]]);
    watch.setRegionsDown(new Map());
    watch.fail();
    const lines = ["oncall firing incident-1", "chat firing incident-1"];
    expect(linesOf(watch.outbox)).toEqual(lines);
    expect(inhibited(watch)).toEqual([["target-down", null]]);
  });

  it("receivers that it concerns are notified when the other incident ends, though a poll shows no change", () => {
    const rules = [
      serverRule({ receivers: ["oncall", "chat"] }),
      { ...down, receivers: ["chat"], keepFiringForMs: 2 * intervalMs },
    ];
    const watch = createWatch({ rules, receivers: { oncall: true, chat: true } });
    watch.fail();
    watch.see(broken);
    watch.see(broken);
    expect(linesOf(watch.outbox).slice(1)).toEqual(["oncall firing incident-2"]);
    watch.see(broken);
    watch.see(broken);
    expect(linesOf(watch.outbox).slice(2)).toEqual([
      "chat resolved incident-1",
      "chat firing incident-2",
    ]);
  });

  it("what was notified before stays notified, without reminders meanwhile", () => {
    const rules = [{ ...down, remindEveryMs: intervalMs }, region(["oncall"])];
    const watch = createWatch({ rules });
    watch.fail();
    watch.setRegionsDown(regionIsDown);
    for (let poll = 0; poll < 3; poll += 1) watch.fail();
    expect(linesOf(watch.outbox)).toEqual(["oncall firing incident-1"]);
    watch.setRegionsDown(new Map());
    watch.fail();
    expect(linesOf(watch.outbox).at(-1)).toBe("oncall reminder incident-1");
  });

  it("servers are not notified of while it fires that their target is down", () => {
    const rules = [serverRule(), { ...down, keepFiringForMs: 2 * intervalMs }];
    const watch = createWatch({ rules });
    watch.see(idle);
    watch.fail();
    expect(stepsOf(watch.see(broken).incidents)).toEqual(["inhibited server-error a"]);
    watch.see(broken);
    expect(stepsOf(watch.see(broken).incidents)).toEqual([
      "resolved target-down (recovered)",
      "fired server-error a",
    ]);
  });

  it("ends for servers when their target is up, though it flaps", () => {
    const flap = { changes: 1, withinMs: 100 * intervalMs };
    const watch = createWatch({ rules: [serverRule(), { ...down, flap }] });
    for (let time = 0; time < 2; time += 1) {
      watch.fail();
      watch.see(idle);
    }
    expect(stepsOf(watch.see(broken).incidents)).toEqual(["fired server-error a"]);
  });

  it("ends when the key is accepted, though its incident goes on for a while", () => {
    const watch = createWatch({ rules: [down, { ...refused, keepFiringForMs: 9 * intervalMs }] });
    watch.fail("auth");
    watch.see(idle);
    expect(stepsOf(watch.fail().incidents)).toEqual(["fired target-down"]);
  });

  it("lasts over a restart", () => {
    const watch = createWatch({ rules: [down, refused] });
    watch.fail("auth");
    watch.restart();
    watch.fail("auth");
    expect(inhibited(watch)).toContainEqual(["target-down", "incident-1"]);
    expect(watch.outbox).toHaveLength(1);
  });
});

it.each([
  ["a server", serverRule(), (watch: Watch, holds: boolean) => watch.see(holds ? broken : idle)],
  [
    "a server that disappears and returns",
    serverRule(),
    (watch: Watch, holds: boolean) => watch.see(...(holds ? [broken] : [])),
  ],
  [
    "a target",
    targetRule({ for: inPolls(2) }),
    (watch: Watch, holds: boolean) => (holds ? watch.fail() : watch.see(idle)),
  ],
])(
  "%s with the flap limit of the default rules is notified of at most three times an hour",
  (_, rule, show) => {
    const limited = { ...rule, flap: { changes: 1, withinMs: 3_600_000, firingOnly: true } };
    fc.assert(
      fc.property(runs, (script) => {
        const watch = createWatch({ rules: [limited], goneAfter: 1 });
        const times = script.flatMap((holds, index) =>
          show(watch, holds).incidents.outbox.map(() => index),
        );
        for (const [index, first] of times.entries()) {
          const fourth = times[index + 3] ?? Number.POSITIVE_INFINITY;
          expect((fourth - first) * intervalMs).toBeGreaterThanOrEqual(3_600_000);
        }
      }),
      { numRuns: 100 },
    );
  },
);
