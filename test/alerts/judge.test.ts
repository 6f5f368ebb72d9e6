import { describe, expect, it } from "vitest";
import { conditionOfStatus } from "../../src/alerts/incident.ts";
import { noInterventions } from "../../src/alerts/silence.ts";
import { judgePoll } from "../../src/alerts/judge.ts";
import { eachServer } from "../../src/fleet/snapshot.ts";
import { changesOf, readListing } from "../support/listing.ts";
import { inPolls, lasting, listedServer, serverRule, targetRule } from "./support/samples.ts";
import { linesOf, stepsOf } from "./support/steps.ts";
import { createWatch, intervalMs, startUtcMs } from "./support/watch.ts";
import type { Watch } from "./support/watch.ts";

const idle = listedServer("a", "idle");
const broken = listedServer("a", "error");

describe("first sight", () => {
  it("in error opens an incident", () => {
    const watch = createWatch();
    const { incidents, at } = watch.see(broken);
    expect(stepsOf(incidents)).toEqual(["fired server-error a"]);
    expect(incidents.outbox).toEqual([
      {
        receiver: "oncall",
        type: "incident.firing",
        rule: "server-error",
        severity: "critical",
        condition: conditionOfStatus("error"),
        summaryTemplate: null,
        runbookUrlTemplate: null,
        causedAtMs: at.utcMs,
        incident: {
          id: "incident-1",
          state: "firing",
          subject: "server",
          region: "us",
          key: "research",
          sandboxId: "box",
          serverId: "a",
          serverName: "github",
          status: "error",
          previousStatus: "absent",
          startedAtMs: startUtcMs + intervalMs,
          resolvedAtMs: null,
          resolvedReason: null,
          receiver: null,
          probe: null,
          flapping: false,
          acknowledgedBy: null,
        },
      },
    ]);
  });

  it("in error of a partial listing opens an incident too: what it shows is used", () => {
    expect(stepsOf(createWatch().seePart(broken).incidents)).toEqual(["fired server-error a"]);
  });

  it("after a restart, in error and not so before it, opens an incident", () => {
    const watch = createWatch();
    watch.see(idle);
    watch.restart();
    const { incidents } = watch.see(broken);
    expect(stepsOf(incidents)).toEqual(["fired server-error a"]);
    expect(incidents.outbox[0]?.incident.previousStatus).toBe("idle");
  });

  it("after a restart gives no other incident to one that already had its own", () => {
    const watch = createWatch();
    watch.see(broken);
    expect(stepsOf(watch.restart())).toEqual([]);
    expect(stepsOf(watch.see(broken).incidents)).toEqual([]);
    expect(stepsOf(watch.see(idle).incidents)).toEqual(["resolved server-error a (recovered)"]);
    expect(linesOf(watch.outbox)).toEqual([
      "oncall incident.firing incident-1",
      "oncall incident.resolved incident-1",
    ]);
  });

  it("under a rule that is new opens an incident though nothing changed", () => {
    const watch = createWatch({ rules: [] });
    watch.see(broken);
    watch.restart({ rules: [serverRule()] });
    expect(stepsOf(watch.see(broken).incidents)).toEqual(["fired server-error a"]);
    expect(stepsOf(watch.see(broken).incidents)).toEqual([]);
  });

  it("under a rule that is new is not lost to a partial listing that lacks the server", () => {
    const watch = createWatch({ rules: [] });
    watch.see(broken);
    watch.restart({ rules: [serverRule()] });
    expect(stepsOf(watch.seePart().incidents)).toEqual([]);
    expect(stepsOf(watch.see(broken).incidents)).toEqual(["fired server-error a"]);
  });

  it("under a rule that is new claims nothing of a server that is missing", () => {
    const watch = createWatch({ rules: [] });
    watch.see(broken);
    watch.restart({ rules: [serverRule()] });
    expect(stepsOf(watch.see().incidents)).toEqual([]);
    expect(stepsOf(watch.see(broken).incidents)).toEqual(["fired server-error a"]);
  });
});

describe("a server that recovers", () => {
  it("resolves its incident, and a later error is another incident", () => {
    const watch = createWatch();
    watch.see(broken);
    const { incidents, at } = watch.see(idle);
    expect(incidents.outbox[0]).toMatchObject({
      type: "incident.resolved",
      incident: {
        id: "incident-1",
        state: "resolved",
        status: "idle",
        previousStatus: "error",
        startedAtMs: startUtcMs + intervalMs,
        resolvedAtMs: at.utcMs,
        resolvedReason: "recovered",
      },
    });
    expect(watch.see(broken).incidents.outbox[0]?.incident.id).toBe("incident-2");
  });

  it("that no rule is about any more is not said to have recovered while it is in error", () => {
    const watch = createWatch({ rules: [serverRule({ match: { tag: ["prod"] } })] });
    watch.see({ ...broken, tags: ["prod"] });
    const { incidents } = watch.see(broken);
    expect(stepsOf(incidents)).toEqual(["resolved server-error a (rule_removed)"]);
    expect(incidents.outbox[0]?.incident).toMatchObject({
      status: "error",
      previousStatus: "absent",
    });
  });

  it("after less than `for` was never told", () => {
    const watch = createWatch({ rules: [serverRule({ for: inPolls(2) })] });
    expect(stepsOf(watch.see(broken).incidents)).toEqual(["opened server-error a"]);
    const { incidents } = watch.see(idle);
    expect(stepsOf(incidents)).toEqual(["dropped server-error a"]);
    expect(incidents.written).toEqual([]);
    expect(incidents.dropped).toMatchObject([{ id: "incident-1" }]);
    expect([watch.outbox, watch.state.incidents.size]).toEqual([[], 0]);
  });

  it("for a moment only does not end an incident that is kept firing", () => {
    const watch = createWatch({ rules: [serverRule({ keepFiringForMs: 2 * intervalMs })] });
    const polls = [broken, idle, broken, idle, idle, idle].map((server) => watch.see(server));
    expect(polls.map(({ incidents }) => stepsOf(incidents).join())).toEqual([
      "fired server-error a",
      "",
      "",
      "",
      "",
      "resolved server-error a (recovered)",
    ]);
  });
});

describe("a server that is gone", () => {
  it("after `gone_after` complete listings resolves its incident with that reason", () => {
    const watch = createWatch({ goneAfter: 3 });
    watch.see(broken);
    expect(stepsOf(watch.see().incidents)).toEqual([]);
    expect(stepsOf(watch.see().incidents)).toEqual([]);
    const { incidents, diff } = watch.see();
    expect(stepsOf(incidents)).toEqual(["resolved server-error a (gone)"]);
    expect(changesOf(diff)).toMatchObject([{ from: "error", to: "absent" }]);
    expect(incidents.outbox[0]).toMatchObject({
      condition: "in error",
      incident: { status: "absent", previousStatus: "error", resolvedReason: "gone" },
    });
  });

  it("is not so by partial listings, however many", () => {
    const watch = createWatch({ goneAfter: 1 });
    watch.see(broken);
    for (let poll = 0; poll < 5; poll += 1) {
      const { incidents, diff } = watch.seePart();
      expect([stepsOf(incidents), changesOf(diff)]).toEqual([[], []]);
    }
    expect(stepsOf(watch.see(broken).incidents)).toEqual([]);
  });

  it("is not so by failed polls, which do not break the row of complete listings either", () => {
    const watch = createWatch({ goneAfter: 2 });
    watch.see(broken);
    watch.see();
    for (let poll = 0; poll < 5; poll += 1) expect(stepsOf(watch.fail().incidents)).toEqual([]);
    expect(stepsOf(watch.see().incidents)).toEqual(["resolved server-error a (gone)"]);
  });

  it("counts its listings on across a restart", () => {
    const watch = createWatch({ goneAfter: 2 });
    watch.see(broken);
    watch.see();
    watch.restart();
    expect(stepsOf(watch.see().incidents)).toEqual(["resolved server-error a (gone)"]);
  });

  it("and comes back in error has another incident", () => {
    const watch = createWatch({ goneAfter: 1 });
    watch.see(broken);
    watch.see();
    expect(watch.see(broken).incidents.outbox[0]?.incident.id).toBe("incident-2");
  });

  it("but comes back before that in error still has its first one, and did not age meanwhile", () => {
    const rule = serverRule({ for: lasting(2 * intervalMs) });
    const watch = createWatch({ goneAfter: 3, rules: [rule] });
    const polls = [
      watch.see(broken),
      watch.see(),
      watch.see(),
      watch.see(broken),
      watch.see(broken),
    ];
    expect(polls.map(({ incidents }) => stepsOf(incidents).join())).toEqual([
      "opened server-error a",
      "",
      "",
      "",
      "fired server-error a",
    ]);
  });

  it("before its incident fired leaves nothing behind", () => {
    const watch = createWatch({ goneAfter: 1, rules: [serverRule({ for: inPolls(5) })] });
    watch.see(broken);
    expect(stepsOf(watch.see().incidents)).toEqual(["dropped server-error a"]);
    expect([watch.outbox, watch.state.incidents.size]).toEqual([[], 0]);
  });
});

describe("how long a status lasted", () => {
  const looks: readonly [string, (watch: Watch) => void, number | null][] = [
    ["is known between complete listings without a break", (w) => w.see(idle), 2 * intervalMs],
    ["is not known after a failed poll", (w) => w.fail(), null],
    ["is not known after a partial listing", (w) => w.seePart(idle), null],
    ["is not known across a restart", (w) => w.restart(), null],
  ];

  it.each(looks)("%s", (_sentence, look, dwellMs) => {
    const watch = createWatch();
    watch.see();
    watch.see(idle);
    look(watch);
    expect(changesOf(watch.see(broken).diff)).toMatchObject([
      { from: "idle", to: "error", dwellMs },
    ]);
  });

  it("is not known from a partial listing", () => {
    const watch = createWatch();
    watch.see();
    watch.see(idle);
    expect(changesOf(watch.seePart(broken).diff)).toMatchObject([{ to: "error", dwellMs: null }]);
  });
});

describe("rules beside one another", () => {
  it("have an incident each for the same server", () => {
    const rules = [serverRule(), serverRule({ name: "slow", for: inPolls(2) }), targetRule()];
    const watch = createWatch({ rules });
    expect(stepsOf(watch.see(broken).incidents)).toEqual(["fired server-error a", "opened slow a"]);
    expect(stepsOf(watch.see(broken).incidents)).toEqual(["fired slow a"]);
  });

  it("about other targets do nothing here", () => {
    const match = { region: ["eu"] };
    const watch = createWatch({ rules: [serverRule({ match }), targetRule({ match })] });
    const verdicts = [watch.see(broken), watch.fail(), watch.fail(), watch.fail()];
    expect(verdicts.flatMap(({ incidents }) => stepsOf(incidents))).toEqual([]);
  });

  it("can be about any status, also an unknown one", () => {
    const watch = createWatch({ rules: [serverRule({ status: "unknown" })] });
    const { outbox } = watch.see(listedServer("a", "unknown")).incidents;
    expect(outbox.map(({ condition }) => condition)).toEqual(["unknown"]);
  });
});

it("the same state, outcome and time give the same verdict, and leave the state alone", () => {
  const watch = createWatch();
  watch.see(idle, listedServer("b", "error"));
  const options = {
    rules: [serverRule()],
    goneAfter: 1,
    interventions: noInterventions,
    notifies: () => true,
    newIncidentId: () => "incident",
  };
  const at = { utcMs: startUtcMs + 9e6, monotonicMs: 9e6 };
  const before = structuredClone([...eachServer(watch.state.snapshot)]);
  const judge = () => {
    const listing = readListing({ sandboxes: [], complete: true });
    const { snapshot, ...verdict } = judgePoll(
      watch.state,
      { kind: "listed", listing },
      at,
      options,
    );
    return { ...verdict, servers: [...eachServer(snapshot)] };
  };
  expect(judge()).toEqual(judge());
  expect([...eachServer(watch.state.snapshot)]).toEqual(before);
});

it("a listing is walked a few times, however many incidents its servers have", () => {
  let reads = 0;
  const count = 2_000;
  const servers = Array.from({ length: count }, (_, index) => ({
    ...broken,
    get id() {
      reads += 1;
      return `server-${index}`;
    },
  }));
  const watch = createWatch();
  watch.see(...servers);
  reads = 0;
  expect(stepsOf(watch.see(...servers).incidents)).toEqual([]);
  expect(watch.state.incidents.size).toBe(count);
  expect(reads).toBeLessThan(20 * count);
});
