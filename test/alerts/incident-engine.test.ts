import { describe, expect, it } from "vitest";
import { inPolls, listedServer, serverRule, targetRule } from "./support/samples.ts";
import { linesOf, stepsOf } from "./support/steps.ts";
import { createWatch, intervalMs } from "./support/watch.ts";

const idle = listedServer("a", "idle");
const broken = listedServer("a", "error");

describe("who is told", () => {
  it("are the rule's receivers, each once for each step", () => {
    const rule = serverRule({ receivers: ["oncall", "chat"], remindEveryMs: intervalMs });
    const watch = createWatch({ rules: [rule], receivers: { oncall: true, chat: true } });
    for (const server of [broken, broken, idle]) watch.see(server);
    expect(linesOf(watch.outbox)).toEqual([
      "oncall incident.firing incident-1",
      "chat incident.firing incident-1",
      "oncall incident.reminder incident-1",
      "chat incident.reminder incident-1",
      "oncall incident.resolved incident-1",
      "chat incident.resolved incident-1",
    ]);
  });

  it("is nobody of a pending incident", () => {
    const watch = createWatch({ rules: [serverRule({ for: inPolls(3) })] });
    expect(watch.see(broken).incidents.written).toMatchObject([
      { phase: { name: "pending" }, receivers: [], firedAtMs: null },
    ]);
    expect(watch.outbox).toEqual([]);
  });

  it("is no receiver that is not configured", () => {
    const watch = createWatch({ rules: [serverRule({ receivers: ["ghost", "oncall"] })] });
    expect(linesOf(watch.see(broken).incidents.outbox)).toEqual([
      "oncall incident.firing incident-1",
    ]);
  });

  it("of a resolve is no receiver that does not want to hear of it", () => {
    const rule = serverRule({ receivers: ["oncall", "quiet"] });
    const watch = createWatch({ rules: [rule], receivers: { oncall: true, quiet: false } });
    expect(linesOf(watch.see(broken).incidents.outbox)).toEqual([
      "oncall incident.firing incident-1",
      "quiet incident.firing incident-1",
    ]);
    expect(linesOf(watch.see(idle).incidents.outbox)).toEqual([
      "oncall incident.resolved incident-1",
    ]);
  });

  it("of a resolve are those who were told of the fire, whoever the rule names by then", () => {
    const receivers = { oncall: true, chat: true };
    const watch = createWatch({ receivers });
    watch.see(broken);
    expect(stepsOf(watch.restart({ rules: [serverRule({ receivers: ["chat"] })] }))).toEqual([]);
    expect(linesOf(watch.see(idle).incidents.outbox)).toEqual([
      "oncall incident.resolved incident-1",
    ]);
    expect(linesOf(watch.see(broken).incidents.outbox)).toEqual([
      "chat incident.firing incident-2",
    ]);
  });

  it("of a resolve is no receiver that was not there when the incident fired", () => {
    const rules = [serverRule({ receivers: ["oncall", "late"] })];
    const watch = createWatch({ rules });
    watch.see(broken);
    watch.restart({ receivers: { oncall: true, late: true } });
    expect(linesOf(watch.see(idle).incidents.outbox)).toEqual([
      "oncall incident.resolved incident-1",
    ]);
  });

  it("of a resolve is a receiver that is gone by then too, for when it returns", () => {
    const watch = createWatch();
    watch.see(broken);
    watch.restart({ receivers: {} });
    const { incidents } = watch.see(idle);
    expect(stepsOf(incidents)).toEqual(["resolved server-error a (recovered)"]);
    expect(linesOf(incidents.outbox)).toEqual(["oncall incident.resolved incident-1"]);
  });

  it("of a fire are those the rule names then, not those it named when it opened", () => {
    const slow = serverRule({ for: inPolls(2) });
    const watch = createWatch({ rules: [slow], receivers: { oncall: true, chat: true } });
    watch.see(broken);
    watch.restart({ rules: [{ ...slow, receivers: ["chat"] }] });
    expect(linesOf(watch.see(broken).incidents.outbox)).toEqual([
      "chat incident.firing incident-1",
    ]);
  });
});

describe("a rule that is no more", () => {
  const rules = [serverRule(), serverRule({ name: "slow", for: inPolls(9) }), targetRule()];

  it("ends its incidents, and says why; those that never fired go without a word", () => {
    const watch = createWatch({ rules });
    watch.see(broken);
    const retired = watch.restart({ rules: [] });
    expect(stepsOf(retired)).toEqual(["resolved server-error a (rule_removed)", "dropped slow a"]);
    expect(retired.outbox).toMatchObject([
      {
        type: "incident.resolved",
        condition: "in error",
        incident: { id: "incident-1", status: "error", resolvedReason: "rule_removed" },
      },
    ]);
    expect(watch.state.incidents.size).toBe(0);
    expect(stepsOf(watch.restart({ rules: [] }))).toEqual([]);
  });

  it("ends the incidents of its target too, also while it is blind", () => {
    const watch = createWatch({ rules });
    for (let poll = 0; poll < 3; poll += 1) watch.fail();
    const retired = watch.restart({ rules: [serverRule()] });
    expect(stepsOf(retired)).toEqual(["resolved target-down (rule_removed)"]);
    expect(retired.outbox).toMatchObject([{ condition: "down" }]);
  });

  it("because it changed ends its incidents; what holds by the new one is another incident", () => {
    const watch = createWatch();
    watch.see(broken);
    const changed = serverRule({ match: { serverName: ["git*"] } });
    expect(stepsOf(watch.restart({ rules: [changed] }))).toEqual([
      "resolved server-error a (rule_removed)",
    ]);
    expect(linesOf(watch.see(broken).incidents.outbox)).toEqual([
      "oncall incident.firing incident-2",
    ]);
  });

  it("is not one that stayed as it was, or whose receivers, severity or reminders were edited", () => {
    const watch = createWatch({ rules });
    watch.see(broken);
    expect(stepsOf(watch.restart())).toEqual([]);
    const edited = rules.map((rule) => ({ ...rule, severity: "info" as const, receivers: [] }));
    expect(stepsOf(watch.restart({ rules: edited }))).toEqual([]);
    expect(watch.state.incidents.size).toBe(2);
    expect(stepsOf(watch.see(broken).incidents)).toEqual([]);
  });

  it("reminders that were edited hold for incidents that fire already", () => {
    const watch = createWatch();
    watch.see(broken);
    watch.restart({ rules: [serverRule({ remindEveryMs: intervalMs })] });
    watch.see(broken);
    expect(stepsOf(watch.see(broken).incidents)).toEqual(["reminded server-error a"]);
  });
});

describe("what is written", () => {
  it("of an incident is its whole life: opened, fired, resolved", () => {
    const watch = createWatch({ rules: [serverRule({ for: inPolls(2) })] });
    const [opened, fired, resolved] = [broken, broken, idle].map((each) => watch.see(each));
    const startedAtMs = opened?.at.utcMs;
    expect(opened?.incidents.written).toMatchObject([
      { startedAtMs, firedAtMs: null, resolvedAtMs: null, receivers: [], status: "error" },
    ]);
    const firedAtMs = fired?.at.utcMs;
    expect(fired?.incidents.written).toMatchObject([
      { startedAtMs, firedAtMs, resolvedAtMs: null, receivers: ["oncall"] },
    ]);
    expect(resolved?.incidents.written).toMatchObject([
      { startedAtMs, firedAtMs, resolvedAtMs: resolved?.at.utcMs, status: "idle" },
    ]);
  });

  it("is nothing of an incident that merely goes on", () => {
    const rules = [serverRule(), serverRule({ name: "slow", for: inPolls(9) })];
    const watch = createWatch({ rules });
    watch.see(broken);
    expect(watch.see(broken).incidents.written).toEqual([]);
  });
});
