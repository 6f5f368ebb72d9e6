import { describe, expect, it } from "vitest";
import { summarize } from "../../src/alerts/notification-summary.ts";
import { matchFields, type SilenceMatch } from "../../src/alerts/silence.ts";
import { broken, createWatch, idle, inPolls, intervalMs, linesOf } from "./support/watch.ts";
import { serverRule, showing, stepsOf, targetRule, watchAfter } from "./support/watch.ts";
import type { Watch } from "./support/watch.ts";

const flap = { changes: 2, withinMs: 20 * intervalMs };
const flapping = "e[fired]i[recovered]e[fired]i[recovered]e[fired]";

describe("receivers are notified", () => {
  const both = { receivers: { oncall: true, chat: true } };

  it("that the rule names and that are configured, once for each step that they want", () => {
    const named = serverRule({
      receivers: ["ghost", "oncall", "quiet"],
      remindEveryMs: intervalMs,
    });
    const receivers = { oncall: true, quiet: false };
    const options = { rules: [named], receivers };
    expect(linesOf(watchAfter("e[fired]e[reminded]i[recovered]", options).outbox)).toEqual([
      "oncall firing incident-1",
      "quiet firing incident-1",
      "oncall reminder incident-1",
      "quiet reminder incident-1",
      "oncall resolved incident-1",
    ]);
  });

  it("of a resolve if they were notified of the incident, whatever the rule names by then", () => {
    const watch = watchAfter("e[fired]", both);
    expect(stepsOf(watch.restart({ rules: [serverRule({ receivers: ["chat"] })] }))).toEqual([]);
    watch.see(idle);
    watch.see(broken);
    expect(linesOf(watch.outbox)).toEqual([
      "oncall firing incident-1",
      "oncall resolved incident-1",
      "chat firing incident-2",
    ]);
  });

  it("of an incident that fires already if they are new, also if it is acknowledged", () => {
    const rules = [serverRule({ receivers: ["oncall", "chat"] })];
    const watch = watchAfter("e[fired]K", { rules });
    watch.restart(both);
    expect(watch.see(broken).incidents.outbox).toMatchObject([
      { receiver: "chat", type: "incident.firing", incident: { acknowledgedBy: "ada" } },
    ]);
    watch.see(idle);
    expect(linesOf(watch.outbox.slice(2))).toEqual([
      "oncall resolved incident-1",
      "chat resolved incident-1",
    ]);
  });

  it("of what has settled by a message that says so, and of a reminder after that by one that does not", () => {
    const rules = [serverRule({ flap, remindEveryMs: intervalMs })];
    const watch = watchAfter(`${flapping}e{19}e[settled]e[reminded]`, { rules });
    const said = watch.outbox.slice(-2).map((item) => summarize([item], null));
    expect(said).toEqual([
      expect.stringMatching(/^No longer flapping, still: 1 github server in error /),
      expect.stringMatching(/^Still: 1 github server in error /),
    ]);
  });

  it("if the rule names them when the incident fires, not when it opened", () => {
    const slow = serverRule({ for: inPolls(2) });
    const watch = watchAfter("e[opened]", { rules: [slow], ...both });
    watch.restart({ rules: [{ ...slow, receivers: ["chat"] }] });
    watch.see(broken);
    expect(linesOf(watch.outbox)).toEqual(["chat firing incident-1"]);
  });
});

describe("a rule that is removed", () => {
  const rules = [serverRule(), serverRule({ name: "slow", for: inPolls(9) }), targetRule()];

  it("ends its incidents and says why; those that never fired are dropped", () => {
    const watch = watchAfter("e[fired, opened slow]", { rules });
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

  it("ends the incident of a target that is down, and forgets what flapped", () => {
    const watch = watchAfter(`${flapping}![opened]!![fired]`, {
      rules: [serverRule({ flap }), targetRule()],
    });
    const retired = watch.restart({ rules: [] });
    expect(stepsOf(retired)).toContain("resolved target-down (rule_removed)");
    expect(retired.flaps).toMatchObject([{ enteredMs: [] }]);
    expect(watch.state.flaps.size).toBe(0);
  });

  it("is one that changed: what holds by the new one is another incident", () => {
    const watch = watchAfter("e[fired]");
    const changed = serverRule({ match: { serverName: ["git*"] } });
    expect(stepsOf(watch.restart({ rules: [changed] }))).toEqual([
      "resolved server-error a (rule_removed)",
    ]);
    expect(linesOf(watch.see(broken).incidents.outbox)).toEqual(["oncall firing incident-2"]);
  });

  it("is not one whose receivers, severity or reminders were edited, which apply at once", () => {
    const watch = watchAfter("e[fired, opened slow]", { rules });
    const edited = { severity: "info", receivers: [], remindEveryMs: intervalMs } as const;
    expect(
      stepsOf(watch.restart({ rules: rules.map((rule) => ({ ...rule, ...edited })) })),
    ).toEqual([]);
    watch.see(broken);
    expect(stepsOf(watch.see(broken).incidents)).toEqual(["reminded server-error a"]);
  });

  it("is one that is not about the server any more, which is not said to have recovered", () => {
    const watch = createWatch({ rules: [serverRule({ match: { tag: ["prod"] } })] });
    watch.see({ ...broken, tags: ["prod"] });
    expect(watch.see(broken).incidents.outbox).toMatchObject([
      { incident: { resolvedReason: "rule_removed", status: "error", previousStatus: "absent" } },
    ]);
  });
});

describe("a rule that is new", () => {
  it.each<[string, (watch: Watch) => void]>([
    ["though nothing changed", () => {}],
    ["though a partial listing lacked the server first", (watch) => watch.seePart()],
    ["though the server was missing first", (watch) => watch.see()],
  ])("opens an incident %s", (_, first) => {
    const watch = createWatch({ rules: [] });
    watch.see(broken);
    watch.restart({ rules: [serverRule()] });
    first(watch);
    expect(watch.outbox).toEqual([]);
    expect(stepsOf(watch.see(broken).incidents)).toEqual(["fired server-error a"]);
    expect(stepsOf(watch.see(broken).incidents)).toEqual([]);
  });
});

describe("several servers", () => {
  it("flap, are silenced and have an unknown status each for itself", () => {
    const watch = watchAfter(flapping, { rules: [serverRule({ flap })] });
    watch.silence({ server_id: ["c"] });
    const { incidents } = watch.see(
      showing("unknown"),
      showing("error", "b"),
      showing("error", "c"),
    );
    expect(stepsOf(incidents)).toEqual(["fired server-error b", "muted server-error c"]);
    expect(incidents.outbox).toMatchObject([{ condition: "in error" }]);
  });

  it("are known to a silence by all that is known of them", () => {
    const match = {
      rule: ["server-error"],
      severity: ["critical"],
      region: ["us"],
      key: ["research"],
      sandbox_id: ["box"],
      server_id: ["a"],
      server_name: ["github"],
      benchmark: ["MCP_Atlas"],
      tag: ["prod"],
    };
    const stepsUnder = (silence: SilenceMatch): readonly string[] => {
      const watch = createWatch();
      watch.silence(silence);
      const shown = { ...broken, benchmark: "MCP_Atlas", tags: ["staging", "prod"] };
      return stepsOf(watch.see(shown).incidents);
    };
    expect(stepsUnder(match)).toEqual(["muted server-error a"]);
    for (const field of matchFields) {
      expect(stepsUnder({ ...match, [field]: ["other"] })).toEqual(["fired server-error a"]);
    }
  });
});
