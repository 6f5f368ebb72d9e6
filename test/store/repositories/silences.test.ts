import { describe, expect, it } from "vitest";
import type { DriftRecord } from "../../../src/fleet/drift.ts";
import { startMs } from "../../support/fleet.ts";
import { engines } from "../support/engines.ts";
import { openOutboxStore } from "../support/outbox-store.ts";

const hourMs = 3_600_000;

describe.each(engines)("silences on $name", (engine) => {
  /** Two silences, which begin and end a millisecond apart. */
  async function openSilences() {
    const { store } = await openOutboxStore(engine);
    for (const [index, id] of ["s1", "s2"].entries()) {
      const startsAtMs = startMs + index;
      const times = { createdAtMs: startsAtMs, startsAtMs, endsAtMs: startsAtMs + hourMs };
      const match = { region: ["us"] };
      await store.silences.add({ id, match, author: "ann", reason: "maintenance", ...times });
    }
    const page = async (nowMs: number, ended: boolean): Promise<readonly string[]> => {
      const found = await store.silences.page({ ended, nowMs, limit: 9, before: null });
      return found.map(({ id }) => id);
    };
    const open = async (nowMs: number) => (await store.suppressions.read(nowMs)).silences;
    return { ...store, page, open };
  }

  it("whose id another one has are not stored", async () => {
    const { silences, open } = await openSilences();
    const [first] = await open(startMs);
    const other = { match: { region: ["eu"] }, createdAtMs: startMs, startsAtMs: 0, endsAtMs: 1 };
    expect(await silences.add({ id: "s1", author: "bob", reason: "", ...other })).toBe(false);
    expect(await silences.find("s1")).toMatchObject({ ...first });
  });

  it("are ended at once, but never later than they would end", async () => {
    const { silences } = await openSilences();
    for (const atMs of [startMs + 2 * hourMs, startMs + hourMs, startMs + 1]) {
      const change = { endsAtMs: atMs, changedBy: "bob", changedAtMs: atMs };
      expect(await silences.change("s1", change)).toBe(atMs < startMs + hourMs);
      const endsAtMs = Math.min(atMs, startMs + hourMs);
      expect(await silences.find("s1")).toMatchObject({ endsAtMs });
    }
    expect(await silences.find("s2")).toMatchObject({ endsAtMs: startMs + 1 + hourMs });
  });

  it("that have ended are listed among the ended ones only, and pruned for their end", async () => {
    const { prune, page, open } = await openSilences();
    const endMs = startMs + hourMs;
    expect(await page(endMs - 1, false)).toEqual(["s2", "s1"]);
    expect(await page(endMs, false)).toEqual(["s2"]);
    expect(await page(endMs, true)).toEqual(["s2", "s1"]);
    expect((await open(endMs)).map(({ id }) => id)).toEqual(["s2"]);
    await prune.silences(endMs);
    expect(await page(endMs, true)).toEqual(["s2", "s1"]);
    await prune.silences(endMs + 1);
    expect(await page(endMs, true)).toEqual(["s2"]);
  });
});

describe.each(engines)("drift on $name", (engine) => {
  const record: DriftRecord = {
    operation: "list_sandboxes",
    region: "us",
    field: "local_sandboxes[].status",
    problem: "unknown_value",
    example: '"paused"',
    count: 3,
    firstSeenAtMs: 10,
    lastSeenAtMs: 20,
  };

  it("is added up, each new word of an enumeration by itself, until it is old", async () => {
    const { drift } = (await openOutboxStore(engine)).store;
    const later = { ...record, count: 5, lastSeenAtMs: 30 };
    await drift.keep([record, { ...record, example: '"a\0b"' }], 0);
    await drift.keep([{ ...later, count: 2 }], 20);
    const kept = (await drift.all()).toSorted((one, other) => other.count - one.count);
    // As JSON writes what no database can keep.
    expect(kept).toEqual([later, { ...record, example: '"a\\u0000b"' }]);
    await drift.keep([], 21);
    expect(await drift.all()).toEqual([later]);
  });
});
