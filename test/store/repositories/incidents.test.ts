import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { noInterventions } from "../../../src/alerts/silence.ts";
import type { Incident, Subject } from "../../../src/alerts/incident.ts";
import type { IncidentOutcome } from "../../../src/alerts/incident-engine.ts";
import type { IncidentPhase } from "../../../src/alerts/incident-phase.ts";
import { incidentFromRow } from "../../../src/store/incidents.ts";
import type { Tables } from "../../../src/store/tables.ts";
import { judgeBy, listing, research, serverError, watchFleet } from "../../support/fleet.ts";
import { openOutboxStore } from "../support/outbox-store.ts";
import { contentOf, contentOfTarget, openPollStore } from "../support/poll-store.ts";
import { addTarget } from "../../support/add-target.ts";
import { engines } from "../support/engines.ts";

describe.each(engines)("on $name", (engine) => {
  const nothing: IncidentOutcome = { written: [], dropped: [], flaps: [], steps: [], outbox: [] };

  const text = fc.oneof(fc.constantFrom("", "a", "沙箱 🏖", "quote ' \""), fc.uuid());
  const optional = fc.option(text, { nil: null });
  const clockMs = fc.double({ min: 0, max: 1e12, noNaN: true });
  const optionalClockMs = fc.option(clockMs, { nil: null });
  const heldSince = fc.record({ ms: clockMs, polls: fc.nat() });

  const untargeted: fc.Arbitrary<Subject> = fc.oneof(
    fc.record({
      kind: fc.constant("pool" as const),
      region: optional,
      key: optional,
      serverName: optional,
    }),
    fc.record({ kind: fc.constant("receiver" as const), receiver: text }),
  );
  const targeted: fc.Arbitrary<Subject> = fc.oneof(
    fc.constant({ kind: "target" as const }),
    fc.record({
      kind: fc.constant("server" as const),
      sandboxId: text,
      serverId: text,
      serverName: optional,
    }),
  );
  const phases: fc.Arbitrary<IncidentPhase> = fc.oneof(
    fc.record({ name: fc.constant("pending" as const), heldSince }),
    fc.record({
      name: fc.constant("firing" as const),
      heldSince,
      clearSinceMs: optionalClockMs,
      notifiedAtMs: optionalClockMs,
      flapping: fc.boolean(),
    }),
    fc.record({
      name: fc.constant("resolved" as const),
      reason: fc.constantFrom("recovered", "gone", "silenced", "rule_removed"),
    }),
  );

  function incidentOf(id: string, subject: Subject, phase: IncidentPhase): Incident {
    return {
      id,
      rule: "server-error",
      ruleFingerprint: "fingerprint",
      severity: "critical",
      receivers: ["oncall"],
      subject,
      phase,
      status: "error",
      previousStatus: null,
      startedAtMs: 1,
      firedAtMs: phase.name === "firing" && phase.notifiedAtMs === null ? null : 2,
      resolvedAtMs: phase.name === "resolved" ? 3 : null,
    };
  }

  describe("an incident that was stored", () => {
    it("comes back as it was written last, whatever it is about and however far it is", async () => {
      const { kysely, store } = await openOutboxStore(engine);
      const { id: targetId } = await addTarget(store, research);
      let count = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.oneof(
            untargeted.map((subject) => ({ subject, owner: null })),
            targeted.map((subject) => ({ subject, owner: targetId })),
          ),
          phases,
          phases,
          async ({ subject, owner }, first, second) => {
            const id = `incident-${(count += 1)}`;
            for (const phase of [first, second]) {
              const incident = incidentOf(id, subject, phase);
              await store.commitIncidents(owner, { ...nothing, written: [incident] });
              const row = await kysely
                .selectFrom("incidents")
                .selectAll()
                .where("id", "=", id)
                .executeTakeFirstOrThrow();
              expect(incidentFromRow(row)).toEqual(incident);
              expect(row.target_id).toBe(owner);
            }
          },
        ),
        { numRuns: engine.runs(60) },
      );
    });

    it("is found again with its target, or among the pools, as long as it is open", async () => {
      const { store } = await openOutboxStore(engine);
      const { id: targetId } = await addTarget(store, research);
      const firing: IncidentPhase = {
        name: "firing",
        heldSince: { ms: 1, polls: 1 },
        clearSinceMs: null,
        notifiedAtMs: null,
        flapping: true,
      };
      const resolved: IncidentPhase = { name: "resolved", reason: "silenced" };
      const pool: Subject = { kind: "pool", region: "us", key: null, serverName: "github" };
      const receiver: Subject = { kind: "receiver", receiver: "oncall" };
      const ofTarget = incidentOf("t", { kind: "target" }, firing);
      const ofPool = incidentOf("p", pool, firing);
      await store.commitIncidents(targetId, { ...nothing, written: [ofTarget] });
      await store.commitIncidents(null, {
        ...nothing,
        written: [ofPool, incidentOf("q", pool, resolved), incidentOf("r", receiver, firing)],
      });
      expect((await store.targets.all()).map((each) => each.openIncidents)).toEqual([[ofTarget]]);
      const open = await store.untargeted.open();
      expect(open.filter(({ subject }) => subject.kind === "pool")).toEqual([ofPool]);
    });
  });

  describe("across a restart", () => {
    const limited = { ...serverError, flap: { changes: 1, withinMs: 600_000 } };

    it("the incident that a silence put in another's place is the one that is known", async () => {
      const { store, targetId, rows } = await openPollStore(engine);
      let silenced = false;
      const interventions = {
        ...noInterventions,
        silencedAt: () => (silenced ? () => true : null),
      };
      const { watched, poll } = watchFleet(research, { judge: { ...judgeBy(), interventions } });
      await store.commitPoll(targetId, poll(listing({ a: "error" })));
      silenced = true;
      await store.commitPoll(targetId, poll(listing({ a: "error" })));
      expect([...watched.state.incidents.values()]).toMatchObject([
        { id: "incident-2", phase: { name: "firing", notifiedAtMs: null }, receivers: [] },
      ]);
      expect(await contentOf(store)).toEqual(contentOfTarget(watched));
      const phaseOf = ({ id, phase, resolved_reason: reason }: Partial<Tables["incidents"]>) =>
        `${id} ${phase} ${reason}`;
      expect((await rows("incidents")).map(phaseOf)).toEqual([
        "incident-1 resolved silenced",
        "incident-2 firing null",
      ]);
    });

    it("what is known of flapping is the same, and nothing is left of it when it settled", async () => {
      const { store, targetId, rows } = await openPollStore(engine);
      const { watched, poll } = watchFleet(research, { judge: judgeBy([limited]) });
      for (const status of ["error", "idle", "error", "idle", "error"] as const) {
        await store.commitPoll(targetId, poll(listing({ a: status, b: "error" })));
        expect(await contentOf(store)).toEqual(contentOfTarget(watched));
      }
      expect(await rows("flap_records")).toHaveLength(2);
      for (let polls = 0; polls < 25; polls += 1) {
        await store.commitPoll(targetId, poll(listing({ a: "idle", b: "idle" })));
      }
      expect(await rows("flap_records")).toEqual([]);
      expect(await contentOf(store)).toEqual(contentOfTarget(watched));
    });
  });
});
