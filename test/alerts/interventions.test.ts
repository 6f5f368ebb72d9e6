import { describe, expect, it } from "vitest";
import type { Verdict } from "../../src/alerts/judge.ts";
import type { SilenceFacts } from "../../src/alerts/silence.ts";
import { inPolls, listedServer, serverRule, targetRule } from "./support/samples.ts";
import { linesOf, stepsOf } from "./support/steps.ts";
import { createWatch, intervalMs } from "./support/watch.ts";
import type { Watch, WatchOptions } from "./support/watch.ts";

const idle = listedServer("a", "idle");
const broken = listedServer("a", "error");
const everything = (): boolean => true;

function told({ incidents }: Verdict): readonly string[] {
  return linesOf(incidents.outbox);
}

function silencedWatch(options: WatchOptions = {}): Watch {
  const watch = createWatch(options);
  watch.silence(everything);
  return watch;
}

describe("an incident that starts inside a silence", () => {
  it("is told once when it outlives it, as of when it began, and resolves for those told", () => {
    const watch = silencedWatch();
    const first = watch.see(broken);
    expect(stepsOf(first.incidents)).toEqual(["muted server-error a"]);
    watch.see(broken);
    expect(watch.outbox).toEqual([]);
    watch.silence(null);
    const end = watch.see(broken);
    expect(stepsOf(end.incidents)).toEqual(["fired server-error a"]);
    expect(end.incidents.outbox).toMatchObject([
      {
        type: "incident.firing",
        causedAtMs: end.at.utcMs,
        incident: { id: "incident-1", startedAtMs: first.at.utcMs, previousStatus: "absent" },
      },
    ]);
    expect(told(watch.see(broken))).toEqual([]);
    expect(told(watch.see(idle))).toEqual(["oncall incident.resolved incident-1"]);
  });

  it("and ends inside it is not told at all, and is written down as resolved", () => {
    const watch = silencedWatch();
    watch.see(broken);
    const { incidents } = watch.see(idle);
    expect(stepsOf(incidents)).toEqual(["resolved server-error a (recovered)"]);
    expect(incidents.written).toMatchObject([{ phase: { name: "resolved" }, receivers: [] }]);
    watch.silence(null);
    watch.see(idle);
    expect([watch.outbox, watch.state.incidents.size]).toEqual([[], 0]);
  });

  it("and is gone inside it, or whose rule is removed inside it, is not told at all", () => {
    const watch = silencedWatch({ goneAfter: 1 });
    watch.see(broken, listedServer("b", "error"));
    expect(stepsOf(watch.see(broken).incidents)).toEqual(["resolved server-error b (gone)"]);
    watch.restart({ rules: [] });
    expect([watch.outbox, watch.state.incidents.size]).toEqual([[], 0]);
  });

  it("is told once though sandwatch restarts inside it and after it", () => {
    const watch = silencedWatch();
    watch.see(broken);
    watch.restart();
    expect(told(watch.see(broken))).toEqual([]);
    watch.silence(null);
    watch.restart();
    expect(told(watch.see(broken))).toEqual(["oncall incident.firing incident-1"]);
    watch.restart();
    expect(told(watch.see(broken))).toEqual([]);
  });

  it("is not told while its target is blind, though the silence ends meanwhile", () => {
    const watch = silencedWatch();
    watch.see(broken);
    watch.silence(null);
    expect([watch.fail(), watch.fail()].flatMap(told)).toEqual([]);
    expect(told(watch.see(broken))).toEqual(["oncall incident.firing incident-1"]);
  });

  it("is not reminded of, and not told to receivers that are new", () => {
    const rule = serverRule({ remindEveryMs: intervalMs });
    const watch = silencedWatch({ rules: [rule], receivers: { oncall: true, late: true } });
    watch.see(broken);
    watch.see(broken);
    watch.restart({ rules: [{ ...rule, receivers: ["oncall", "late"] }] });
    watch.see(broken);
    expect(watch.outbox).toEqual([]);
    watch.silence(null);
    expect(told(watch.see(broken))).toEqual([
      "oncall incident.firing incident-1",
      "late incident.firing incident-1",
    ]);
  });

  it("fires by its rule's `for`, silenced or not", () => {
    const watch = silencedWatch({ rules: [serverRule({ for: inPolls(3) })] });
    expect(stepsOf(watch.see(broken).incidents)).toEqual(["opened server-error a"]);
    watch.silence(null);
    expect(told(watch.see(broken))).toEqual([]);
    expect(told(watch.see(broken))).toEqual(["oncall incident.firing incident-1"]);
  });

  it("and clears before it ends is not told while it is kept firing, but is if it comes back", () => {
    const watch = silencedWatch({ rules: [serverRule({ keepFiringForMs: 3 * intervalMs })] });
    watch.see(broken);
    watch.silence(null);
    expect(told(watch.see(idle))).toEqual([]);
    expect(told(watch.see(broken))).toEqual(["oncall incident.firing incident-1"]);
  });

  it("is of a target as well", () => {
    const watch = silencedWatch({ rules: [targetRule({ for: inPolls(1) })] });
    expect(stepsOf(watch.fail().incidents)).toEqual(["muted target-down"]);
    watch.silence(null);
    expect(told(watch.fail())).toEqual(["oncall incident.firing incident-1"]);
  });
});

describe("an incident that was told before a silence began", () => {
  it("is resolved for those told, and told again under another id if it outlives the silence", () => {
    const watch = createWatch();
    const first = watch.see(broken);
    watch.silence(everything);
    const { incidents, at } = watch.see(broken);
    expect(stepsOf(incidents)).toEqual([
      "resolved server-error a (silenced)",
      "muted server-error a",
    ]);
    expect(incidents.outbox).toMatchObject([
      {
        type: "incident.resolved",
        condition: "in error",
        incident: {
          id: "incident-1",
          status: "error",
          resolvedReason: "silenced",
          resolvedAtMs: at.utcMs,
        },
      },
    ]);
    expect(told(watch.see(broken))).toEqual([]);
    watch.silence(null);
    const again = watch.see(broken).incidents;
    expect(again.outbox).toMatchObject([
      {
        type: "incident.firing",
        incident: { id: "incident-2", startedAtMs: first.at.utcMs },
      },
    ]);
    expect(told(watch.see(idle))).toEqual(["oncall incident.resolved incident-2"]);
  });

  it("is not told again if it ends inside the silence", () => {
    const watch = createWatch();
    watch.see(broken);
    watch.silence(everything);
    watch.see(broken);
    expect(told(watch.see(idle))).toEqual([]);
    watch.silence(null);
    watch.see(idle);
    expect(linesOf(watch.outbox)).toEqual([
      "oncall incident.firing incident-1",
      "oncall incident.resolved incident-1",
    ]);
  });

  it("goes on across a restart: the one that took its place is the one that is known", () => {
    const watch = createWatch();
    watch.see(broken);
    watch.silence(everything);
    watch.see(broken);
    expect([...watch.state.incidents.values()].map(({ id }) => id)).toEqual(["incident-2"]);
    watch.restart();
    expect(watch.state.incidents.size).toBe(1);
    expect(told(watch.see(broken))).toEqual([]);
    watch.silence(null);
    expect(told(watch.see(broken))).toEqual(["oncall incident.firing incident-2"]);
  });

  it("and was clearing starts that anew when it holds again inside the silence", () => {
    const watch = createWatch({ rules: [serverRule({ keepFiringForMs: 2 * intervalMs })] });
    watch.see(broken);
    watch.see(idle);
    watch.silence(everything);
    watch.see(broken);
    const steps = [idle, idle, idle].map((each) => stepsOf(watch.see(each).incidents).join());
    expect(steps).toEqual(["", "", "resolved server-error a (recovered)"]);
  });

  it("and ends in the very poll that would silence it is told to have recovered", () => {
    const watch = createWatch();
    watch.see(broken);
    watch.silence(everything);
    expect(watch.see(idle).incidents.outbox).toMatchObject([
      { incident: { resolvedReason: "recovered" } },
    ]);
  });

  it("is left alone while its target is blind", () => {
    const watch = createWatch();
    watch.see(broken);
    watch.silence(everything);
    expect(told(watch.fail())).toEqual([]);
    watch.silence(null);
    expect(told(watch.see(broken))).toEqual([]);
  });
});

describe("what a silence is asked about", () => {
  it("is all that is known of the server and its rule", () => {
    const asked: SilenceFacts[] = [];
    const watch = createWatch({ rules: [serverRule()] });
    watch.silence((facts) => {
      asked.push(facts);
      return false;
    });
    watch.see({ ...broken, benchmark: "MCP_Atlas", tags: ["prod"] });
    expect(asked).toEqual([
      {
        rule: "server-error",
        severity: "critical",
        region: "us",
        key: "research",
        probe: null,
        sandbox_id: "box",
        server_id: "a",
        server_name: "github",
        benchmark: "MCP_Atlas",
        tag: ["prod"],
      },
    ]);
  });

  it("keeps it from others than those it is about", () => {
    const watch = createWatch();
    watch.silence(({ server_id: id }) => id === "a");
    const { incidents } = watch.see(broken, listedServer("b", "error"));
    expect(stepsOf(incidents)).toEqual(["muted server-error a", "fired server-error b"]);
  });
});

describe("an acknowledged incident", () => {
  it("is not reminded of any more, and its end is told, naming who acknowledged it", () => {
    const watch = createWatch({ rules: [serverRule({ remindEveryMs: intervalMs })] });
    watch.see(broken);
    expect(told(watch.see(broken))).toEqual(["oncall incident.reminder incident-1"]);
    watch.acknowledge("incident-1", "ada");
    expect([watch.see(broken), watch.see(broken)].flatMap(told)).toEqual([]);
    expect(watch.see(idle).incidents.outbox).toMatchObject([
      { type: "incident.resolved", incident: { id: "incident-1", acknowledgedBy: "ada" } },
    ]);
  });

  it("stays so across a restart; the server's next incident is another one", () => {
    const watch = createWatch({ rules: [serverRule({ remindEveryMs: intervalMs })] });
    watch.see(broken);
    watch.acknowledge("incident-1", "ada");
    watch.restart();
    watch.see(broken);
    expect(told(watch.see(broken))).toEqual([]);
    watch.see(idle);
    expect(watch.see(broken).incidents.outbox).toMatchObject([
      { incident: { id: "incident-2", acknowledgedBy: null } },
    ]);
    expect(told(watch.see(broken))).toEqual(["oncall incident.reminder incident-2"]);
  });

  it("is still told to a receiver that is new", () => {
    const watch = createWatch({ receivers: { oncall: true, late: true } });
    watch.see(broken);
    watch.acknowledge("incident-1", "ada");
    watch.restart({ rules: [serverRule({ receivers: ["oncall", "late"] })] });
    expect(watch.see(broken).incidents.outbox).toMatchObject([
      { receiver: "late", type: "incident.firing", incident: { acknowledgedBy: "ada" } },
    ]);
  });
});
