import { describe, expect, it } from "vitest";
import type { DriftRecord } from "../../../src/fleet/drift.ts";
import { engines } from "../support/engines.ts";
import { openOutboxStore } from "../support/outbox-store.ts";

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

  it("is kept as it was last, each new word of an enumeration by itself", async () => {
    const { store } = await openOutboxStore(engine);
    const other = { ...record, example: '"broken"' };
    await store.drift.keep([record, other], 0);
    await store.drift.keep([{ ...record, count: 5, lastSeenAtMs: 30 }], 0);
    const kept = await store.drift.all();
    expect(kept).toHaveLength(2);
    expect(kept).toContainEqual({ ...record, count: 5, lastSeenAtMs: 30 });
    expect(kept).toContainEqual(other);
  });

  it("is forgotten once it was last seen before a moment", async () => {
    const { store } = await openOutboxStore(engine);
    await store.drift.keep([record], 0);
    await store.drift.keep([], 20);
    expect(await store.drift.all()).toEqual([record]);
    await store.drift.keep([], 21);
    expect(await store.drift.all()).toEqual([]);
  });

  it("holds a word that no database can keep as JSON would write it", async () => {
    const { store } = await openOutboxStore(engine);
    await store.drift.keep([{ ...record, example: '"a\0b"' }], 0);
    expect(await store.drift.all()).toEqual([{ ...record, example: '"a\\u0000b"' }]);
  });
});
