import { plainText } from "../../../src/alerts/notification.ts";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { IncidentPhase } from "../../../src/alerts/incident-phase.ts";
import { IdTakenError, type Incident } from "../../../src/alerts/incident.ts";
import { noSuppressions, type Silencing } from "../../../src/alerts/silence.ts";
import type { Subject } from "../../../src/alerts/subjects.ts";
import { incidentFromRow, selectIncidents } from "../../../src/store/incidents.ts";
import { outboxItem, startMs } from "../../notify/support/items.ts";
import { firing, openNotifiedStore, resolved } from "../../notify/support/notified-store.ts";
import { addTarget } from "../../support/add-target.ts";
import { judgeBy, listing, research, watchFleet } from "../../support/fleet.ts";
import { engines } from "../support/engines.ts";
import { noOutcome, openOutboxStore } from "../support/outbox-store.ts";
import { contentOf, contentOfTarget, openPollStore } from "../support/poll-store.ts";

describe.each(engines)("incidents on $name", (engine) => {
  const pool = { kind: "pool", region: null, key: null, serverName: "github" } as const;

  it("come back as they were written last", async () => {
    const text = fc.oneof(fc.constantFrom("", "a", "沙箱 🏖", "quote ' \""), fc.uuid());
    const optional = fc.option(text, { nil: null });
    const clockMs = fc.double({ min: 0, max: 1e12, noNaN: true });
    const optionalClockMs = fc.option(clockMs, { nil: null });
    const heldSince = fc.record({ ms: clockMs, polls: fc.nat() });
    const kind = <Kind extends string>(name: Kind) => fc.constant(name);
    const subjects: fc.Arbitrary<Subject> = fc.oneof(
      fc.record({ kind: kind("pool"), region: optional, key: optional, serverName: optional }),
      fc.record({ kind: kind("receiver"), receiver: text }),
      fc.record({ kind: kind("target") }),
      fc.record({ kind: kind("sandbox"), sandboxId: text, benchmark: optional }),
      fc.record({ kind: kind("server"), sandboxId: text, serverId: text, serverName: optional }),
    );
    const phases: fc.Arbitrary<IncidentPhase> = fc.oneof(
      fc.record({ name: kind("pending"), heldSince }),
      fc.record({
        name: kind("firing"),
        heldSince,
        clearSinceMs: optionalClockMs,
        notifiedAtMs: optionalClockMs,
        flapping: fc.boolean(),
      }),
      fc.record({
        name: kind("resolved"),
        reason: fc.constantFrom("recovered", "gone", "silenced", "rule_removed"),
      }),
    );
    const { kysely, store } = await openOutboxStore(engine);
    const { id: targetId } = await addTarget(store, research);
    let count = 0;
    await fc.assert(
      fc.asyncProperty(subjects, phases, phases, async (subject, first, second) => {
        const id = `incident-${(count += 1)}`;
        const owner = subject.kind === "server" || subject.kind === "target" ? targetId : null;
        for (const [phase, receivers, owed] of [
          [first, [], ["am", "boss"]],
          [second, ["am", "chat.1"], ["boss"]],
          [second, ["am", "boss", "chat.1", "oncall_2"], []],
        ] as const) {
          const resolvedAtMs = phase.name === "resolved" ? 3 : null;
          const who = { receivers, owed };
          const incident: Incident = { ...firing(id), subject, phase, ...who, resolvedAtMs };
          await store.commitIncidents(owner, { ...noOutcome, written: [incident] });
          const query = selectIncidents(kysely).where("id", "=", id);
          const row = await query.executeTakeFirstOrThrow();
          expect(incidentFromRow(row)).toEqual(incident);
          expect(row.target_id).toBe(owner);
        }
      }),
      { numRuns: engine.runs(60) },
    );
  });

  it("whose id another one has are not stored, nor is anything that is written with them", async () => {
    const { store, everything } = await openPollStore(engine);
    const ids = ["first", "second", "first", "third"];
    const judge = { ...judgeBy(), newIncidentId: () => ids.shift() ?? "" };
    const { poll } = watchFleet(research, { judge });
    await store.commitPoll(1, poll(listing({ a: "error" })));
    await store.commitPoll(1, poll(listing({ a: "idle" })));
    await store.commitPoll(1, poll(listing({ a: "idle", b: "error" })));
    const before = await everything();
    const colliding = store.commitPoll(1, poll(listing({ a: "idle", b: "error", c: "error" })));
    await expect(colliding).rejects.toThrow(IdTakenError);
    expect(await everything()).toEqual(before);
  });

  it("are found with their target, or among those of none, as long as they are open", async () => {
    const { store } = await openOutboxStore(engine);
    const { id: targetId } = await addTarget(store, research);
    const ofTarget = firing("t", { subject: { kind: "target" } });
    const ofPool = firing("p", { subject: pool });
    await store.commitIncidents(targetId, { ...noOutcome, written: [ofTarget] });
    const written = [ofPool, resolved("q", startMs, { subject: pool })];
    await store.commitIncidents(null, { ...noOutcome, written });
    expect((await store.targets.all()).map((each) => each.openIncidents)).toEqual([[ofTarget]]);
    expect(await store.incidentsWithoutTarget.open()).toEqual([ofPool]);
  });

  it("of a server or a sandbox are those that began by a moment, first the open ones, then those resolved latest", async () => {
    const { store, targetId } = await openPollStore(engine);
    const open = firing("open", { startedAtMs: startMs + 1 });
    const { subject } = open;
    const long = resolved("long", startMs + 90, { subject, startedAtMs: startMs });
    const short = resolved("short", startMs + 60, { subject, startedAtMs: startMs + 50 });
    const later = firing("later", { subject, startedAtMs: startMs + 91 });
    await store.commitIncidents(targetId, { ...noOutcome, written: [short, later, long, open] });
    const serverId = subject.kind === "server" ? subject.serverId : "";
    const found = await store.incidents.ofServer(serverId, startMs + 90, 2);
    expect(found.map(({ incident }) => incident.id)).toEqual(["open", "long"]);
    const sandboxId = subject.kind === "server" ? subject.sandboxId : "";
    const sandbox = { kind: "sandbox", sandboxId, benchmark: null } as const;
    const written = [
      firing("own", { subject: sandbox, startedAtMs: startMs + 2 }),
      firing("another's", { subject: { ...sandbox, sandboxId: "another" } }),
    ];
    await store.commitIncidents(targetId, { ...noOutcome, written });
    const ofSandbox = await store.incidents.ofSandbox(sandboxId, startMs + 90, 9);
    const ids = ofSandbox.map(({ incident }) => incident.id);
    expect(ids).toEqual(["own", "open", "long", "short"]);
  });

  it("that a silence began instead of others are the ones that are known", async () => {
    const { store, targetId, rows } = await openPollStore(engine);
    const silenced: Silencing[] = [];
    const suppressions = { ...noSuppressions, silenced };
    const { watched, poll } = watchFleet(research, { judge: { ...judgeBy(), suppressions } });
    await store.commitPoll(targetId, poll(listing({ a: "error" })));
    silenced.push({ match: {}, by: "ann", endsAtMs: Infinity });
    await store.commitPoll(targetId, poll(listing({ a: "error" })));
    expect(await contentOf(store)).toEqual(contentOfTarget(watched));
    expect(await rows("incidents")).toMatchObject([
      { id: "incident-1", phase: "resolved", resolved_reason: "silenced" },
      { id: "incident-2", phase: "firing", resolved_reason: null },
    ]);
    expect(await rows("incident_receivers")).toEqual([
      { incident_id: "incident-1", receiver: "oncall", notified: 1 },
    ]);
  });
});

describe.each(engines)("acknowledgements on $name", (engine) => {
  const byKim = { author: "kim", note: null, atMs: startMs };
  const ofKim = { incidentId: "fires", ...byKim, endsAtMs: null, endedBy: null };
  const compose = () => [outboxItem({ incident: { id: "fires" } })];

  async function openIncidents() {
    const { store } = await openOutboxStore(engine);
    const { id } = await addTarget(store, research);
    const written = [firing("fires"), firing("fires too"), resolved("over", startMs)];
    await store.commitIncidents(id, { ...noOutcome, written });
    const openItems = async () => (await store.outbox.openItems("oncall", 9)).length;
    const ofOpenIncidents = async () =>
      (await store.suppressions.read(startMs)).acknowledgements.toSorted((a, b) =>
        a.incidentId < b.incidentId ? -1 : 1,
      );
    return { ...store.acknowledgements, incidents: store.incidents, openItems, ofOpenIncidents };
  }

  it("are the first ones of firing incidents, with their notifications", async () => {
    const store = await openIncidents();
    const before = await store.incidents.newest();
    const first = await store.acknowledge({ ids: ["fires"] }, byKim, compose);
    expect(first).toEqual({ acknowledged: [ofKim], already: [] });
    const second = await store.acknowledge({}, { ...byKim, author: "lee" }, compose);
    const ofLee = { ...ofKim, incidentId: "fires too", author: "lee" };
    expect(second).toEqual({ acknowledged: [ofLee], already: [ofKim] });
    expect(await store.openItems()).toBe(2);
    expect(await store.ofOpenIncidents()).toEqual([ofKim, ofLee]);
    // Clients that follow the incidents are shown it.
    expect((await store.incidents.after(before, {}, 9)).incidents).toMatchObject([
      { incident: { id: "fires" }, acknowledgement: ofKim },
      { incident: { id: "fires too" }, acknowledgement: ofLee },
    ]);
  });

  it("are none of incidents that do not fire, or where notifications cannot be stored", async () => {
    const store = await openIncidents();
    for (const id of ["over", "nothing"]) {
      const none = await store.acknowledge({ ids: [id] }, byKim, compose);
      expect(none).toEqual({ acknowledged: [], already: [] });
    }
    const failing = store.acknowledge({}, byKim, () => {
      throw new Error("it cannot be composed");
    });
    await expect(failing).rejects.toThrow("it cannot be composed");
    expect(await store.ofOpenIncidents()).toEqual([]);
    expect(await store.openItems()).toBe(0);
  });

  it("end, are replaced by those that last longer, and are withdrawn, with their notifications", async () => {
    const store = await openIncidents();
    const given = { ...byKim, endsAtMs: startMs + 1_000 };
    await store.acknowledge({ ids: ["fires"] }, given, compose);
    const shorter = { ...given, author: "lee", endsAtMs: startMs + 500 };
    const already = [{ ...ofKim, endsAtMs: startMs + 1_000 }];
    expect(await store.acknowledge({ ids: ["fires"] }, shorter, compose)).toEqual({
      acknowledged: [],
      already,
    });
    const later = { ...byKim, author: "lee", atMs: startMs + 1_000, endsAtMs: startMs + 2_000 };
    const [ofLee] = (await store.acknowledge({ ids: ["fires"] }, later, compose)).acknowledged;
    expect(ofLee).toMatchObject({ author: "lee", endsAtMs: startMs + 2_000 });
    const longer = { ...byKim, atMs: startMs + 1_500 };
    const [ofKimAgain] = (await store.acknowledge({}, longer, compose)).acknowledged;
    expect(ofKimAgain).toMatchObject({ incidentId: "fires", author: "kim", endsAtMs: null });

    const by = { author: "ann", atMs: startMs + 1_600 };
    const withdrawn = await store.withdraw({ ids: ["fires", "over"] }, by, compose);
    const ended = { endsAtMs: startMs + 1_600, endedBy: "ann" };
    expect(withdrawn).toEqual([{ ...ofKim, atMs: startMs + 1_500, ...ended }]);
    expect(await store.withdraw({ ids: ["fires"] }, by, compose)).toEqual([]);
    expect(await store.ofOpenIncidents()).toMatchObject([ended, { incidentId: "fires too" }]);
    expect(await store.openItems()).toBe(5);
  });

  it("keep a note with what no database can keep", async () => {
    const store = await openIncidents();
    const note = "cut \ud800, end \0, 🏖";
    await store.acknowledge({ ids: ["fires"] }, { ...byKim, note }, compose);
    // As JSON writes what no database can keep.
    expect(await store.ofOpenIncidents()).toEqual([
      { ...ofKim, note: "cut \\ud800, end \\u0000, 🏖" },
    ]);
  });
});

describe.each(engines)("incidents that a receiver was notified of, on $name", (engine) => {
  it("are those that fire and those resolved recently", async () => {
    const { store, commit, acknowledge } = await openNotifiedStore({}, engine);
    const pending = { name: "pending", heldSince: { ms: 0, polls: 0 } } as const;
    await commit(
      firing("fires"),
      firing("for both", { receivers: ["other", "am"] }),
      firing("for another", { receivers: ["other"] }),
      firing("pending", { phase: pending, receivers: [] }),
      resolved("just over", startMs),
      resolved("long over", startMs - 1),
    );
    await acknowledge("fires", "kim");
    const found = await store.notified.notifiedTo("am", startMs, "all");
    const byId = found.toSorted((one, other) => (one.incident.id < other.incident.id ? -1 : 1));
    expect(byId).toMatchObject([
      { target: research, incident: firing("fires"), acknowledgement: { author: "kim" } },
      { incident: { id: "for both" }, acknowledgement: null },
      { incident: { id: "just over" } },
    ]);
  });

  it("are, of some, only those and others of the same subjects", async () => {
    const { store, commit } = await openNotifiedStore({}, engine);
    const subject = { kind: "server", sandboxId: "s", serverId: "x", serverName: "x" } as const;
    const target = { subject: { kind: "target" }, rule: "down" } as const;
    await commit(
      firing("elsewhere"),
      resolved("before", startMs, { subject }),
      resolved("long before", startMs - 1, { subject }),
      firing("now", { subject }),
      resolved("down before", startMs, target),
      firing("down", target),
    );
    const box = (sandboxId: string) => ({
      rule: "sandbox-error",
      subject: { kind: "sandbox", sandboxId, benchmark: null } as const,
    });
    await commit(resolved("box before", startMs, box("s")), firing("box", box("s")));
    await commit(firing("other box", box("t")));
    const written = [
      resolved("full before", startMs, { subject: pool }),
      firing("full", { subject: pool }),
    ];
    await store.commitIncidents(null, { ...noOutcome, written });
    const alike = async (...about: readonly string[]): Promise<readonly string[]> => {
      const found = await store.notified.notifiedTo("am", startMs, about);
      return found.map(({ incident }) => incident.id).toSorted();
    };
    const down = await store.notified.firingOf("am", "down");
    expect(down.map(({ incident }) => incident.id)).toEqual(["down"]);
    expect(await store.notified.firingOf("other", "down")).toEqual([]);
    expect(await alike("nothing")).toEqual(["down before", "full before"]);
    expect(await alike("before")).toEqual(["before", "down before", "full before", "now"]);
    expect(await alike("box before")).toEqual(["box", "box before", "down before", "full before"]);
    expect(await alike("down before")).toEqual(["down", "down before", "full before"]);
    expect(await alike("full before")).toEqual(["down before", "full", "full before"]);
  });

  it("have the texts of the last message about each", async () => {
    const words = { condition: "in error", runbookUrlTemplate: "u" };
    const { store, commit } = await openNotifiedStore(words, engine);
    await commit(firing("a"), firing("b", { receivers: ["other"] }));
    await commit(resolved("a", startMs));
    expect([...(await store.notified.textsOf("am", ["a", "b", "c"]))]).toEqual([
      ["a", { ...plainText, ...words }],
    ]);
  });

  const pool = { kind: "pool", region: null, key: null, serverName: "github" } as const;
});
