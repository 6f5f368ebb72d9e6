import { describe, expect, it } from "vitest";
import { summarize } from "../../src/alerts/notification-summary.ts";
import { broken, createReader, createWatch, idle, intervalMs } from "./support/watch.ts";
import { inPolls, serverRule, showing, stepsOf, targetRule } from "./support/watch.ts";
import type { WatchOptions } from "./support/watch.ts";

const minute = 60_000;

describe("escalation", () => {
  const escalation = [
    { afterMs: 15 * minute, receivers: ["lead"] },
    { afterMs: 60 * minute, receivers: ["boss", "lead"] },
  ];
  const receivers = { oncall: true, lead: true, boss: true };

  function begin(more: WatchOptions = {}) {
    const watch = createWatch({ rules: [serverRule({ escalation })], receivers, ...more });
    return { watch, sent: createReader(watch) };
  }

  function start(more: WatchOptions = {}) {
    const { watch, sent } = begin(more);
    watch.see(broken);
    expect(sent()).toEqual(["oncall firing incident-1"]);
    return { watch, sent };
  }

  it("notifies the receivers of each step once while nobody acknowledges the incident, and all of its end", () => {
    const { watch, sent } = start();
    watch.wait(14 * minute);
    watch.see(broken);
    expect(sent()).toEqual([]);
    watch.wait(minute - intervalMs);
    expect(stepsOf(watch.see(broken).incidents)).toEqual(["escalated server-error a"]);
    expect(sent()).toEqual(["lead firing incident-1"]);
    watch.see(broken);
    expect(sent()).toEqual([]);
    watch.wait(45 * minute);
    watch.see(broken);
    expect(sent()).toEqual(["boss firing incident-1"]);
    watch.see(idle);
    expect(sent()).toEqual(["oncall", "lead", "boss"].map((name) => `${name} resolved incident-1`));
  });

  it("takes steps together that became due together", () => {
    const { watch, sent } = start();
    watch.wait(2 * 60 * minute);
    watch.see(broken);
    expect(sent()).toEqual(["lead firing incident-1", "boss firing incident-1"]);
  });

  it("says for how long nobody acknowledged it", () => {
    const { watch } = start();
    watch.wait(15 * minute);
    const { outbox } = watch.see(broken).incidents;
    expect(summarize(outbox, null)).toMatch(
      /^Not acknowledged for 15 min: 1 github server in error/,
    );
  });

  it("stops at an acknowledgement, and goes on when that is withdrawn or ends", () => {
    const { watch, sent } = start();
    watch.acknowledge();
    watch.wait(20 * minute);
    watch.see(broken);
    expect(sent()).toEqual([]);
    watch.unacknowledge();
    watch.see(broken);
    expect(sent()).toEqual(["lead firing incident-1"]);
  });

  it("neither repeats nor skips a step at a restart", () => {
    const { watch, sent } = start();
    watch.wait(15 * minute);
    watch.see(broken);
    expect(sent()).toEqual(["lead firing incident-1"]);
    watch.wait(50 * minute);
    watch.restart();
    watch.see(broken);
    expect(sent()).toEqual(["boss firing incident-1"]);
    watch.restart();
    watch.see(broken);
    expect(sent()).toEqual([]);
  });

  it("begins again when a silence is over, as the incident fires then", () => {
    const { watch, sent } = start();
    watch.silence({});
    watch.see(broken);
    expect(sent()).toEqual(["oncall resolved incident-1"]);
    watch.wait(60 * minute);
    watch.see(broken);
    watch.silence(null);
    watch.see(broken);
    expect(sent()).toEqual(["oncall firing incident-2"]);
    watch.wait(14 * minute);
    watch.see(broken);
    expect(sent()).toEqual([]);
    watch.wait(minute);
    watch.see(broken);
    expect(sent()).toEqual(["lead firing incident-2"]);
  });

  it("takes no step while another incident inhibits it, while it flaps, or while its status is unknown", () => {
    const flap = { changes: 1, withinMs: 60 * minute };
    const { watch, sent } = start({ rules: [serverRule({ escalation, flap })] });
    watch.see(idle);
    watch.see(broken);
    expect(sent()).toEqual(["oncall resolved incident-1", "oncall firing incident-2"]);
    watch.wait(16 * minute);
    watch.see(broken);
    expect(sent()).toEqual([]);
    const { watch: other, sent: later } = start();
    other.wait(20 * minute);
    other.see(showing("unknown"));
    expect(later()).toEqual([]);

    const down = targetRule({ for: inPolls(1), trouble: "partial" });
    const { watch: partial, sent: third } = start({ rules: [serverRule({ escalation }), down] });
    partial.setRegionsDown(new Map());
    partial.wait(20 * minute);
    partial.fail();
    expect(third()).toEqual([]);
  });

  it("goes on while another incident informs some receivers, and stops while it informs all of them", () => {
    const refused = targetRule({ name: "refused", trouble: "auth", for: inPolls(1) });
    const down = (names: readonly string[]) =>
      targetRule({ for: inPolls(1), receivers: names, escalation });
    const { watch: some, sent } = begin({ rules: [refused, down(["oncall", "boss"])] });
    some.fail("auth");
    expect(sent()).toEqual(["oncall firing incident-1", "boss firing incident-2"]);
    some.wait(15 * minute);
    some.fail("auth");
    expect(sent()).toEqual(["lead firing incident-2"]);

    const { watch: all, sent: later } = begin({ rules: [refused, down(["oncall"])] });
    all.fail();
    all.fail("auth");
    expect(later()).toEqual(["oncall firing incident-1", "oncall firing incident-2"]);
    all.wait(20 * minute);
    all.fail("auth");
    expect(later()).toEqual([]);
  });

  it("takes no step to a receiver that another incident informs", () => {
    const refused = targetRule({
      name: "refused",
      trouble: "auth",
      for: inPolls(1),
      receivers: ["lead"],
    });
    const down = targetRule({ for: inPolls(1), escalation });
    const { watch, sent } = begin({ rules: [refused, down] });
    watch.fail("auth");
    expect(sent()).toEqual(["lead firing incident-1", "oncall firing incident-2"]);
    watch.wait(60 * minute);
    watch.fail("auth");
    expect(sent()).toEqual(["boss firing incident-2"]);
  });

  it("goes by the name that a server has now", () => {
    const route = { places: null, match: { server_name: ["slack"] } };
    const { watch, sent } = start({ routing: { lead: { route } } });
    watch.wait(20 * minute);
    watch.see(broken);
    expect(sent()).toEqual([]);
    watch.see(showing("error", "a", { name: "slack" }));
    expect(sent()).toEqual(["lead firing incident-1"]);
  });

  it("leaves the end of it to a receiver whose alert stays open during a silence", () => {
    const routing = { lead: { keepsAlert: true } };
    const { watch, sent } = start({ routing });
    watch.wait(15 * minute);
    watch.see(broken);
    watch.silence({});
    watch.see(broken);
    sent();
    watch.silence(null);
    watch.see(broken);
    expect(sent()).toEqual(["lead firing incident-2", "oncall firing incident-2"]);
    watch.see(idle);
    expect(sent()).toEqual(["lead resolved incident-2", "oncall resolved incident-2"]);
  });

  it("applies at once to incidents that fire under a rule that had none", () => {
    const { watch, sent } = start({ rules: [serverRule()] });
    watch.wait(20 * minute);
    watch.restart({ rules: [serverRule({ escalation })] });
    watch.see(broken);
    expect(sent()).toEqual(["lead firing incident-1"]);
  });
});
