import { describe, expect, it } from "vitest";
import type { IncidentOutcome } from "../../../src/alerts/incident-engine.ts";
import { addTarget } from "../../support/add-target.ts";
import { research } from "../../support/fleet.ts";
import { outboxItem, startMs } from "../../notify/support/items.ts";
import { firing, resolved } from "../../notify/support/notified-store.ts";
import { engines } from "../support/engines.ts";
import { openOutboxStore } from "../support/outbox-store.ts";

describe.each(engines)("acknowledgements on $name", (engine) => {
  const nothing: IncidentOutcome = { written: [], dropped: [], flaps: [], steps: [], outbox: [] };
  const ofKim = { incidentId: "fires", author: "kim", note: null, atMs: startMs };
  const compose = () => [outboxItem({ incident: { id: "fires" } })];

  async function openIncidents() {
    const { store, kysely } = await openOutboxStore(engine);
    const { id } = await addTarget(store, research);
    const written = [firing("fires"), resolved("over", startMs)];
    await store.commitIncidents(id, { ...nothing, written });
    const openItems = async () => (await store.outbox.openItems("oncall", 9)).length;
    return { store, kysely, id, openItems };
  }

  it("are the first one of an incident that fires, with their notifications", async () => {
    const { store, openItems } = await openIncidents();
    const place = await store.incidents.newest();
    expect(await store.acknowledgements.acknowledge(ofKim, compose)).toEqual({
      kind: "acknowledged",
      acknowledgement: ofKim,
    });
    const second = { ...ofKim, author: "lee" };
    expect(await store.acknowledgements.acknowledge(second, compose)).toEqual({
      kind: "already",
      acknowledgement: ofKim,
    });
    expect(await openItems()).toBe(1);
    expect(await store.acknowledgements.ofOpenIncidents()).toEqual([ofKim]);
    // Whoever follows the incidents learns of it.
    expect((await store.incidents.after(place, {}, 9)).incidents).toMatchObject([
      { incident: { id: "fires" }, acknowledgement: ofKim },
    ]);
  });

  it.each([
    ["over", { kind: "not_firing", phase: "resolved" }],
    ["nothing", { kind: "unknown" }],
  ])("are none of an incident that is not firing: %s", async (incidentId, outcome) => {
    const { store, openItems } = await openIncidents();
    const given = await store.acknowledgements.acknowledge({ ...ofKim, incidentId }, compose);
    expect(given).toEqual(outcome);
    expect(await openItems()).toBe(0);
  });

  it("are not stored where their notifications cannot be", async () => {
    const { store } = await openIncidents();
    const failing = store.acknowledgements.acknowledge(ofKim, () => {
      throw new Error("it cannot be composed");
    });
    await expect(failing).rejects.toThrow("it cannot be composed");
    expect(await store.acknowledgements.ofOpenIncidents()).toEqual([]);
  });

  it("that were stored without their notifications get them once, if the incident still fires", async () => {
    const { store, openItems } = await openIncidents();
    await store.acknowledgements.acknowledge(ofKim, null);
    expect(await openItems()).toBe(0);
    await store.acknowledgements.notifyPending(compose);
    await store.acknowledgements.notifyPending(compose);
    expect(await openItems()).toBe(1);
  });

  it("hold a text that no database can keep as JSON would write it", async () => {
    const { store } = await openIncidents();
    const note = "cut \ud800, end \0, 🏖";
    await store.acknowledgements.acknowledge({ ...ofKim, note }, null);
    expect(await store.acknowledgements.ofOpenIncidents()).toEqual([
      { ...ofKim, note: "cut \\ud800, end \\u0000, 🏖" },
    ]);
  });
});
