import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { restoreSuppressions } from "../../src/api/suppressions.ts";
import type { StoredSuppressions } from "../../src/store/suppressions.ts";
import { startMs } from "../support/fleet.ts";

const clock = { now: () => ({ utcMs: startMs, monotonicMs: 0 }) };

const none: StoredSuppressions = { silences: [], acknowledgements: [] };

const acknowledgement = {
  incidentId: "i",
  author: "ada",
  note: null,
  atMs: startMs,
  endsAtMs: null,
  endedBy: null,
};

it("what suppresses notifications at a moment is not changed by what people do later", async () => {
  let stored = none;
  const read = () => Promise.resolve(stored);
  const suppressions = await restoreSuppressions({ suppressions: { read } }, [], clock);
  const before = suppressions.at(startMs);
  const times = { startsAtMs: startMs, endsAtMs: startMs + 60_000 };
  const silence = { id: "s", match: { key: ["a"] }, author: "ada", reason: "an upgrade", ...times };
  stored = { silences: [silence], acknowledgements: [acknowledgement] };
  await suppressions.reload();
  const after = suppressions.at(startMs);
  stored = none;
  await suppressions.reload();
  expect(before).toMatchObject({ silenced: [], acknowledgedBy: new Map() });
  expect(after).toMatchObject({
    silenced: [{ match: { key: ["a"] } }],
    acknowledgedBy: new Map([["i", "ada"]]),
  });
  expect(suppressions.at(startMs)).toMatchObject({ acknowledgedBy: new Map() });
});

it("silences are read again no earlier than that is asked for, and by many at once", async () => {
  const reads: PromiseWithResolvers<StoredSuppressions>[] = [];
  const read = (): Promise<StoredSuppressions> => {
    const result = Promise.withResolvers<StoredSuppressions>();
    reads.push(result);
    if (reads.length === 1) result.resolve(none);
    return result.promise;
  };
  const suppressions = await restoreSuppressions({ suppressions: { read } }, [], clock);
  const first = suppressions.reload();
  await setImmediate();
  // It may have begun before what the others are to read was stored.
  const others = [suppressions.reload(), suppressions.reload()];
  reads[1]?.reject(new Error("the disk fails"));
  await expect(first).rejects.toThrow("the disk fails");
  await setImmediate();
  reads[2]?.resolve({ ...none, acknowledgements: [acknowledgement] });
  await Promise.all(others);
  expect(reads).toHaveLength(3);
  expect([...suppressions.at(startMs).acknowledgedBy.keys()]).toEqual(["i"]);
});
