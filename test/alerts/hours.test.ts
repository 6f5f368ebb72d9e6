import { describe, expect, it } from "vitest";
import { startMs } from "../support/fleet.ts";
import { broken, createReader, createWatch, idle, inPolls, lasting } from "./support/watch.ts";
import { serverRule, targetRule, type Watch, type WatchOptions } from "./support/watch.ts";

const minute = 60_000;

describe("hours", () => {
  const opensAtMs = startMs + 60 * minute;
  const closesAtMs = startMs + 120 * minute;
  const day = 24 * 60 * minute;
  const isOpenAt = (atMs: number) => {
    const ofDayMs = startMs + ((atMs - startMs) % day);
    return ofDayMs >= opensAtMs && ofDayMs < closesAtMs;
  };

  function opensAgain(watch: Watch): void {
    watch.wait(23 * 60 * minute);
    watch.see(broken);
  }

  function start(more: WatchOptions = {}) {
    const watch = createWatch({
      rules: [serverRule({ receivers: ["oncall", "office"], remindEveryMs: 10 * minute })],
      receivers: { oncall: true, office: true },
      routing: { office: { isOpenAt } },
      ...more,
    });
    return { watch, sent: createReader(watch) };
  }

  it("begin with what still fires, and end with reminders; the end of it comes at any time", () => {
    const { watch, sent } = start();
    watch.see(broken);
    expect(sent()).toEqual(["oncall firing incident-1"]);
    watch.wait(60 * minute);
    watch.see(broken);
    expect(sent()).toEqual(["office firing incident-1", "oncall reminder incident-1"]);
    watch.wait(10 * minute);
    watch.see(broken);
    expect(sent()).toEqual(["oncall reminder incident-1", "office reminder incident-1"]);
    watch.wait(60 * minute);
    watch.see(broken);
    expect(sent()).toEqual(["oncall reminder incident-1"]);
    watch.see(idle);
    expect(sent()).toEqual(["oncall resolved incident-1", "office resolved incident-1"]);
  });

  it("leave the end of it to a closed receiver whose alert stays open during a silence", () => {
    const { watch, sent } = start({ routing: { office: { isOpenAt, keepsAlert: true } } });
    watch.wait(60 * minute);
    watch.see(broken);
    watch.silence({});
    watch.see(broken);
    watch.wait(60 * minute);
    sent();
    watch.silence(null);
    watch.see(broken);
    expect(sent()).toEqual(["oncall firing incident-2"]);
    watch.see(idle);
    expect(sent()).toEqual(["office resolved incident-2", "oncall resolved incident-2"]);
  });

  it.each([
    ["", false],
    [" after a restart", true],
  ])("notify a receiver again whose alert a silence kept, once they begin%s", (_, restarts) => {
    const { watch, sent } = start({ routing: { office: { isOpenAt, keepsAlert: true } } });
    watch.wait(60 * minute);
    watch.see(broken);
    watch.silence({});
    watch.see(broken);
    watch.wait(60 * minute);
    watch.silence(null);
    watch.see(broken);
    sent();
    if (restarts) watch.restart();
    watch.acknowledge();
    opensAgain(watch);
    expect(sent()).toEqual(["office firing incident-2"]);
    watch.see(broken);
    watch.see(idle);
    expect(sent()).toEqual(["oncall resolved incident-2", "office resolved incident-2"]);
  });

  it("notify a receiver of an escalation again whose alert a silence kept, once they begin", () => {
    const escalation = [{ afterMs: 5 * minute, receivers: ["office"] }];
    const rules = [serverRule({ receivers: ["oncall"], escalation })];
    const routing = { office: { isOpenAt, keepsAlert: true } };
    const { watch, sent } = start({ rules, routing });
    watch.wait(55 * minute);
    watch.see(broken);
    watch.wait(5 * minute);
    watch.see(broken);
    expect(sent()).toEqual(["oncall firing incident-1", "office firing incident-1"]);
    watch.silence({});
    watch.see(broken);
    watch.wait(60 * minute);
    watch.silence(null);
    watch.see(broken);
    watch.wait(30 * minute);
    watch.restart();
    watch.see(broken);
    sent();
    opensAgain(watch);
    watch.see(broken);
    expect(sent()).toEqual(["office firing incident-2"]);
  });

  it("do not let an incident of others inhibit one that closed receivers wait for", () => {
    const refused = targetRule({ name: "refused", trouble: "auth", for: inPolls(1) });
    const escalation = [{ afterMs: 15 * minute, receivers: ["lead"] }];
    const down = targetRule({ for: inPolls(1), receivers: ["office"], escalation });
    const receivers = { oncall: true, office: true, lead: true };
    const { watch, sent } = start({ rules: [refused, down], receivers });
    watch.fail("auth");
    watch.wait(15 * minute);
    watch.fail("auth");
    expect(sent()).toEqual(["oncall firing incident-1", "lead firing incident-2"]);
    watch.wait(45 * minute);
    watch.fail("auth");
    expect(sent()).toEqual(["office firing incident-2"]);
  });

  it("begin with nothing where what fired is over", () => {
    const { watch, sent } = start();
    watch.see(broken);
    watch.see(idle);
    watch.wait(60 * minute);
    watch.see(idle);
    expect(sent()).toEqual(["oncall firing incident-1", "oncall resolved incident-1"]);
  });

  it("apply to incidents that fire for closed receivers alone, and to escalation", () => {
    const rule = serverRule({ receivers: ["office"] });
    const { watch, sent } = start({ rules: [rule] });
    watch.see(broken);
    expect(sent()).toEqual([]);
    watch.wait(60 * minute);
    watch.see(broken);
    expect(sent()).toEqual(["office firing incident-1"]);

    const escalation = [{ afterMs: 5 * minute, receivers: ["office"] }];
    const escalated = start({ rules: [serverRule({ escalation, for: lasting(0) })] });
    escalated.watch.see(broken);
    escalated.watch.wait(30 * minute);
    escalated.watch.see(broken);
    expect(escalated.sent()).toEqual(["oncall firing incident-1"]);
    escalated.watch.wait(30 * minute);
    escalated.watch.see(broken);
    expect(escalated.sent()).toEqual(["office firing incident-1"]);
  });
});
