import { describe, expect, it } from "vitest";
import { SuppressionsChangedError } from "../../../src/alerts/current-suppressions.ts";
import { addTarget } from "../../support/add-target.ts";
import { outboxItem } from "../../notify/support/items.ts";
import { firing, resolved } from "../../notify/support/notified-store.ts";
import { research, startMs } from "../../support/fleet.ts";
import { engines } from "../support/engines.ts";
import { noOutcome, openOutboxStore } from "../support/outbox-store.ts";

const byKim = { author: "kim", note: null, atMs: startMs };

function silence(id: string) {
  const times = { createdAtMs: startMs, startsAtMs: startMs, endsAtMs: startMs + 60_000 };
  return { id, match: { region: ["us"] }, author: "ann", reason: "it moves", ...times };
}

describe.each(engines)("what was judged by silences and acknowledgements, on $name", (engine) => {
  async function openWithIncident() {
    const { store } = await openOutboxStore(engine);
    const { id } = await addTarget(store, research);
    await store.commitIncidents(id, { ...noOutcome, written: [firing("fires")] });
    const version = async () => (await store.suppressions.read(startMs)).version;
    /** As a poll does that is notified. */
    const commit = (suppressionsVersion: number | null, incident = resolved("fires", startMs)) => {
      const item = outboxItem({ type: "incident.resolved", incident: { id: incident.id } });
      const written = [incident];
      return store.commitIncidents(id, {
        ...noOutcome,
        written,
        outbox: [item],
        suppressionsVersion,
      });
    };
    return { store, version, commit };
  }

  it.each([
    ["a silence is added", (store) => store.silences.add(silence("other"))],
    ["a silence is ended", (store) => store.silences.end("known", startMs)],
    ["an incident is acknowledged", (store) => store.acknowledgements.acknowledge({}, byKim, null)],
  ] satisfies readonly (readonly [
    string,
    (store: Awaited<ReturnType<typeof openWithIncident>>["store"]) => Promise<unknown>,
  ])[])("is not committed after %s", async (_, change) => {
    const { store, version, commit } = await openWithIncident();
    await store.silences.add(silence("known"));
    const before = await version();
    await change(store);
    await expect(commit(before)).rejects.toThrow(SuppressionsChangedError);
    expect(await store.outbox.openItems("oncall", 9)).toEqual([]);
    await commit(await version());
    expect(await store.outbox.openItems("oncall", 9)).toHaveLength(1);
  });

  it("is committed where nothing of it changed, or nothing is to be compared", async () => {
    const { store, version, commit } = await openWithIncident();
    await store.silences.add(silence("known"));
    const before = await version();
    expect(await store.silences.add(silence("known"))).toBe(false);
    await store.acknowledgements.acknowledge({ ids: ["unknown"] }, byKim, null);
    expect(await version()).toBe(before);
    await commit(before);
    await commit(null, firing("other"));
    expect(await store.outbox.openItems("oncall", 9)).toHaveLength(2);
  });
});
