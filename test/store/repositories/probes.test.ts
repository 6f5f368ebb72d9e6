import { describe, expect, it } from "vitest";
import { keptResults } from "../../../src/store/probes.ts";
import { createStore } from "../../../src/store/store.ts";
import { addTarget } from "../../support/add-target.ts";
import { research } from "../../support/fleet.ts";
import {
  answered,
  failing,
  judgeProbesBy,
  neverRun,
  probeFailing,
  ranProbe,
  unsent,
} from "../../support/probes.ts";
import { engines } from "../support/engines.ts";
import { openOutboxStore } from "../support/outbox-store.ts";

describe.each(engines)("probes on $name", (engine) => {
  const atOnce = { ...probeFailing, for: { kind: "polls", polls: 1 } } as const;
  const flapping = { ...atOnce, flap: { changes: 9, withinMs: 3_600_000 } } as const;

  /** A probe that was never run, in a store of its own. */
  async function storedProbe(rule = atOnce) {
    const { kysely, store } = await openOutboxStore(engine);
    const { id, subject } = await store.probes.add(neverRun().subject);
    const { watched, run } = ranProbe(judgeProbesBy([rule]), { restored: neverRun(undefined, id) });
    const commit = async (...outcomes: Parameters<typeof run>[0][]): Promise<void> => {
      for (const outcome of outcomes) await store.probes.commitRun(id, run(outcome));
    };
    return { kysely, store, id, subject, watched, commit };
  }

  it("come back after a restart as they were written last", async () => {
    const { kysely, id, subject, watched, commit } = await storedProbe(flapping);
    await commit(answered, failing("http_error", 404), unsent);
    const { probes, incidentsWithoutTarget } = createStore(kysely, () => Promise.resolve());
    const { progress, state } = watched;
    expect(await probes.all()).toEqual([
      { id, subject, progress, flaps: [...state.flaps.values()] },
    ]);
    expect(state.flaps.size).toBe(1);
    expect(await incidentsWithoutTarget.open()).toEqual([...state.incidents.values()]);
    expect(await probes.results(id, 2)).toMatchObject([
      { reason: "rate_limited", detail: "nothing was sent", durationMs: null },
      { reason: "http_error", detail: "it is http_error", durationMs: 40 },
    ]);
    await commit(...Array.from({ length: 61 }, () => answered));
    expect(state.flaps.size).toBe(0);
    expect((await probes.all())[0]?.flaps).toEqual([]);
  });

  it("keep a thousand results", async () => {
    const { kysely, store, id, commit } = await storedProbe();
    await commit(failing(), ...Array.from({ length: keptResults }, () => answered));
    const results = await store.probes.results(id, 9_999);
    expect(results).toHaveLength(keptResults);
    expect(results.every(({ reason }) => reason === null)).toBe(true);
    const rows = await kysely.selectFrom("probe_results").select("run").execute();
    expect(rows).toHaveLength(keptResults);
  });

  it("are written with their incidents and notifications, or not at all", async () => {
    const { kysely, store, id, commit } = await storedProbe();
    await commit(answered);
    await kysely.schema.alterTable("outbox_items").renameTo("gone").execute();
    await expect(commit(failing())).rejects.toThrow("outbox_items");
    await kysely.schema.alterTable("gone").renameTo("outbox_items").execute();
    expect(await store.incidentsWithoutTarget.open()).toEqual([]);
    expect(await store.probes.results(id, 9)).toHaveLength(1);
    expect((await store.probes.all())[0]?.progress.attempted.polls).toBe(1);
  });

  it("have incidents of no target, and are removed with all that is of them", async () => {
    const { kysely, store, id, commit } = await storedProbe(flapping);
    await addTarget(store, research);
    await commit(failing());
    expect(await store.incidents.page({ limit: 9, before: null })).toMatchObject([
      { target: null, incident: { subject: { kind: "probe", probe: "login", ...research } } },
    ]);
    expect((await store.targets.all())[0]?.openIncidents).toEqual([]);
    await store.probes.remove(id);
    for (const table of ["probes", "probe_results", "probe_flap_records"] as const) {
      expect(await kysely.selectFrom(table).selectAll().execute()).toEqual([]);
    }
  });
});
