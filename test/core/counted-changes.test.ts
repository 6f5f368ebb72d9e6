import { expect, it } from "vitest";
import { CountedChanges } from "../../src/core/counted-changes.ts";
import type { ChangeCounts } from "../../src/core/counted-changes.ts";
import { presences } from "../../src/core/model.ts";
import type { Presence } from "../../src/core/model.ts";
import { createTallies, maxDistinctNames } from "../../src/core/snapshot/tallies.ts";
import { listedServer } from "./support/samples.ts";
import { createWatch } from "./support/watch.ts";

function counted(
  ...changes: readonly (readonly [string | null, Presence, Presence, number | null])[]
): ChangeCounts {
  const tallies = createTallies();
  for (let name = 0; name < maxDistinctNames; name++) {
    tallies.countServer(`name-${name}`, "idle", 0, 1);
  }
  const counts = new CountedChanges(tallies);
  for (const [serverName, from, to, stayMs] of changes) {
    const [fromNumber, toNumber] = [presences.indexOf(from), presences.indexOf(to)];
    counts.add(counts.countsOf(serverName), { fromNumber, toNumber, stayMs });
  }
  return counts.finish();
}

function transitionsOf(counts: ChangeCounts): readonly unknown[] {
  return Array.from(counts.transitions).flatMap(([name, numbers]) =>
    Array.from(numbers).flatMap((count, pair) =>
      count === 0
        ? []
        : [
            [
              name,
              presences[Math.floor(pair / presences.length)],
              presences[pair % presences.length],
              count,
            ],
          ],
    ),
  );
}

it("counts transitions by name as aggregates show it, those past the limit together", () => {
  const counts = counted(
    ["name-1", "idle", "error", 1],
    ["beyond", "idle", "error", 1],
    [null, "idle", "error", 1],
    ["name-1", "idle", "error", 2],
    ["name-1", "absent", "idle", null],
    ["name-0", "error", "absent", null],
  );
  expect(transitionsOf(counts)).toEqual([
    ["name-1", "idle", "error", 2],
    ["name-1", "absent", "idle", 1],
    ["other", "idle", "error", 2],
    ["name-0", "error", "absent", 1],
  ]);
});

it("counts stays of the same time together, whatever came in between", () => {
  const { stays } = counted(
    ["name-0", "idle", "error", 30],
    ["name-1", "idle", "error", 30],
    ["name-1", "idle", "error", 60],
    ["name-1", "error", "idle", 60],
    ["name-0", "idle", "occupied", 30],
    ["name-0", "absent", "idle", null],
  );
  expect(stays.map((counts) => [...counts])).toEqual([
    [
      [30, 3],
      [60, 1],
    ],
    [],
    [[60, 1]],
    [],
  ]);
});

it("gives the stays that ended of the names that have any", () => {
  const { endedStays: ended } = counted(
    ["name-1", "idle", "error", 30],
    ["name-1", "idle", "error", 90],
    ["name-1", "idle", "error", 30],
    ["name-0", "idle", "error", null],
  );
  expect([...ended.keys()]).toEqual(["name-1"]);
  const sketch = ended.get("name-1")?.idle;
  expect(sketch?.sumMs).toBe(150);
  expect(sketch?.counts).toEqual([2, 1]);
  expect(ended.get("name-1")?.error.bins).toEqual([]);
});

it("what changed is counted, and not who is missing or seen again", () => {
  const watch = createWatch();
  const other = listedServer("b", "idle");
  watch.see(listedServer("a", "idle"), other);
  const looks = [
    watch.see(listedServer("a", "error")),
    watch.see(listedServer("a", "idle"), other),
  ];
  expect(looks.map(({ changes }) => [changes.length, changes.lapseCount])).toEqual([
    [1, 1],
    [1, 1],
  ]);
  const transitions = looks.map(({ counts }) =>
    Array.from(counts.transitions.values(), (numbers) => numbers.reduce((sum, one) => sum + one)),
  );
  expect(transitions).toEqual([[1], [1]]);
});
