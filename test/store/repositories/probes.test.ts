import { describe, expect, it } from "vitest";
import { createStore } from "../../../src/store/store.ts";
import type { Store } from "../../../src/store/store.ts";
import { keptResults } from "../../../src/store/probes.ts";
import { openOutboxStore } from "../support/outbox-store.ts";
import type { OutboxStore } from "../support/outbox-store.ts";
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
import { addTarget } from "../../support/add-target.ts";
import { engines } from "../support/engines.ts";

describe.each(engines)("on $name", (engine) => {
  /** What a process that starts finds. */
  function storeOf({ kysely }: OutboxStore): Store {
    return createStore(kysely, () => Promise.resolve());
  }

  const flapping = {
    ...probeFailing,
    for: { kind: "polls", polls: 1 },
    flap: { changes: 9, withinMs: 3_600_000 },
  } as const;

  /** A probe of which nothing is known, in a store of its own. */
  async function storedProbe(rules = [probeFailing]) {
    const file = await openOutboxStore(engine);
    const store = storeOf(file);
    const { id, subject } = await store.probes.add(neverRun().subject);
    const { watched, run } = ranProbe(judgeProbesBy(rules), { restored: neverRun(undefined, id) });
    const commit = (...outcomes: Parameters<typeof run>[0][]): Promise<void> =>
      outcomes.reduce(
        (before, outcome) => before.then(() => store.probes.commitRun(id, run(outcome))),
        Promise.resolve(),
      );
    return { file, store, id, subject, watched, commit };
  }

  describe("a probe's run", () => {
    it("comes back after a restart as it was written last", async () => {
      const { file, id, subject, watched, commit } = await storedProbe([flapping]);
      await commit(answered, failing("http_error", 404), unsent);
      const store = storeOf(file);
      expect(await store.probes.all()).toEqual([
        { id, subject, progress: watched.progress, flaps: [...watched.state.flaps.values()] },
      ]);
      expect(watched.state.flaps.size).toBe(1);
      expect(await store.untargeted.open()).toEqual([...watched.state.incidents.values()]);
      expect(await store.probes.results(id, 2)).toMatchObject([
        { reason: "rate_limited", detail: "nothing was sent", durationMs: null },
        { reason: "http_error", detail: "it is http_error", durationMs: 40 },
      ]);
    });

    it("forgets that the probe flapped when it settled", async () => {
      const { store, watched, commit } = await storedProbe([flapping]);
      await commit(failing(), ...Array.from({ length: 61 }, () => answered));
      expect(watched.state.flaps.size).toBe(0);
      expect((await store.probes.all())[0]?.flaps).toEqual([]);
    });

    it("is kept until a thousand others came after it", async () => {
      const { file, store, id, commit } = await storedProbe();
      await commit(failing(), ...Array.from({ length: keptResults }, () => answered));
      const results = await store.probes.results(id, 9_999);
      expect(results).toHaveLength(keptResults);
      expect(results.every(({ reason }) => reason === null)).toBe(true);
      const rows = await file.kysely.selectFrom("probe_results").select("run").execute();
      expect(rows).toHaveLength(keptResults);
    });

    it("is written together with its incidents and what must be told of them, or not at all", async () => {
      const { file, store, id, commit } = await storedProbe([
        { ...probeFailing, for: flapping.for },
      ]);
      await commit(answered);
      const { kysely } = file;
      await kysely.schema.alterTable("outbox_items").renameTo("gone").execute();
      await expect(commit(failing())).rejects.toThrow("outbox_items");
      await kysely.schema.alterTable("gone").renameTo("outbox_items").execute();
      expect(await store.untargeted.open()).toEqual([]);
      expect(await store.probes.results(id, 9)).toHaveLength(1);
      expect((await store.probes.all())[0]?.progress.attempted.polls).toBe(1);
    });

    it("has its incident listed with where it is, and those of targets stay theirs", async () => {
      const { store, commit } = await storedProbe([{ ...probeFailing, for: flapping.for }]);
      await addTarget(store, research);
      await commit(failing());
      const query = { phases: [], rules: [], limit: 9, before: null };
      expect(await store.incidents.page(query)).toMatchObject([
        { target: null, incident: { subject: { kind: "probe", probe: "login", ...research } } },
      ]);
      expect((await store.targets.all())[0]?.openIncidents).toEqual([]);
    });

    it("is gone with the probe", async () => {
      const { file, store, id, commit } = await storedProbe([flapping]);
      await commit(failing(), answered);
      await store.probes.remove(id);
      for (const table of ["probes", "probe_results", "probe_flap_records"] as const) {
        expect(await file.kysely.selectFrom(table).selectAll().execute()).toEqual([]);
      }
    });
  });
});
