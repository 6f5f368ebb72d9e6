import { describe, expect, it } from "vitest";
import type { DriftRecord } from "../../../src/fleet/drift.ts";
import { createStore } from "../../../src/store/store.ts";
import { startMs } from "../../support/fleet.ts";
import { engines } from "../support/engines.ts";

const word: DriftRecord = {
  operation: "list_sandboxes",
  region: "us",
  field: "status",
  problem: "unknown_value",
  example: "paused",
  count: 1,
  firstSeenAtMs: startMs,
  lastSeenAtMs: startMs,
};

describe.each(engines)("drift on $name", (engine) => {
  it("is kept once for each kind, with its first example and the sum of its counts, also of an older observation that comes later", async () => {
    const { kysely, close } = await engine.open();
    const { drift } = createStore(kysely, close);
    const missing: DriftRecord = { ...word, problem: "missing", example: null };
    const other = { ...word, example: "stopped", region: "eu" };
    await drift.keep([word, missing, other], 0);
    const later = { count: 7, firstSeenAtMs: startMs + 1, lastSeenAtMs: startMs + 1 };
    await drift.keep([{ ...word, ...later }], startMs);
    await drift.keep([{ ...word, count: 2 }], startMs);
    const updated = { ...word, count: 10, lastSeenAtMs: startMs + 1 };
    expect(new Set(await drift.all())).toEqual(new Set([updated, missing, other]));
    await drift.keep([], startMs + 1);
    expect(await drift.all()).toEqual([updated]);
  });
});
