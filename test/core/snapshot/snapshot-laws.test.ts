import * as fc from "fast-check";
import { expect, it } from "vitest";
import { atOnce } from "../../../src/core/in-steps.ts";
import { statuses } from "../../../src/core/model.ts";
import { openIntake } from "../../../src/core/snapshot/intake.ts";
import { seekId } from "../../../src/core/snapshot/id-table.ts";
import { emptySnapshot } from "../../../src/core/snapshot/packed-snapshot.ts";
import type { PackedSnapshot } from "../../../src/core/snapshot/packed-snapshot.ts";
import { pageOf, type Page } from "../../../src/core/snapshot/page.ts";
import { pageDelta } from "../../../src/core/snapshot/page-delta.ts";
import { restoreSnapshot } from "../../../src/core/snapshot/restore-snapshot.ts";
import type { Sighting } from "../../../src/core/snapshot/sighting.ts";
import type { ServerId, Snapshot } from "../../../src/core/snapshot/snapshot.ts";
import { withoutLapse, spelledOut, unpackAll } from "../support/unpacked.ts";
import { changesOf } from "../../support/take-in.ts";
import type { Poll } from "../support/listing-edits.ts";
import { createMarkedReader } from "../support/marked-intake.ts";
import { keyOf } from "../support/plain-world.ts";
import type { PlainWorld } from "../support/plain-world.ts";
import { play, sizes } from "../support/play.ts";

function sorted(rows: Iterable<object>): readonly string[] {
  return Array.from(rows, (row) => JSON.stringify(row)).toSorted();
}

function rowsOf(snapshot: Snapshot) {
  return { sandboxes: sorted(snapshot.sandboxes()), servers: sorted(snapshot.servers()) };
}

function plainRowsOf({ sandboxes, servers }: PlainWorld) {
  return { sandboxes: sorted(sandboxes.values()), servers: sorted(servers.values()) };
}

/** By name and status, those that are none left out. */
function plainTallies({ servers }: PlainWorld) {
  const counts: Record<string, number> = {};
  for (const { serverName, status, missing } of servers.values()) {
    for (const kind of missing === 0 ? ["servers", "listed"] : ["servers"]) {
      const key = JSON.stringify([serverName ?? "", kind, status]);
      counts[key] = (counts[key] ?? 0) + 1;
    }
  }
  return counts;
}

function talliesOf(snapshot: Snapshot) {
  const counts: Record<string, number> = {};
  for (const { name, servers, listed } of snapshot.tallies()) {
    for (const [kind, of] of Object.entries({ servers, listed })) {
      for (const [status, count] of Object.entries(of)) {
        if (count !== 0) counts[JSON.stringify([name, kind, status])] = count;
      }
    }
  }
  return counts;
}

it.each(sizes)("any listings give the rows, counts and changes of plain maps: %s", (_, size) => {
  fc.assert(
    fc.property(size.worlds, (world) => {
      play(world, ({ sighting, expected }) => {
        const { snapshot, changes } = sighting;
        expect(rowsOf(snapshot)).toEqual(plainRowsOf(expected.world));
        expect(talliesOf(snapshot)).toEqual(plainTallies(expected.world));
        expect(snapshot.serverCount).toBe(expected.world.servers.size);
        expect(snapshot.sandboxCount).toBe(expected.world.sandboxes.size);
        const byStatus = Object.groupBy(expected.world.sandboxes.values(), ({ status }) => status);
        for (const [status, count] of Object.entries(snapshot.sandboxTally)) {
          expect([status, count]).toEqual([
            status,
            Object.entries(byStatus).find(([each]) => each === status)?.[1].length ?? 0,
          ]);
        }
        expect(changes.length).toBe(expected.changes.length);
        expect(sorted(changesOf(changes))).toEqual(sorted(expected.changes));
      });
    }),
    size.runs,
  );
});

it.each(sizes)("packed, changes tell the same, and lapses come after them: %s", (_, size) => {
  fc.assert(
    fc.property(size.worlds, fc.integer({ min: 1, max: 20 }), (world, most) => {
      play(world, ({ sighting, expected }) => {
        const { changes, lapses, ...counted } = unpackAll(sighting.changes, most);
        expect(changes).toEqual(changesOf(sighting.changes).map(withoutLapse));
        expect(sorted(lapses)).toEqual(sorted(expected.lapses));
        expect(counted).toEqual({ lapseCount: lapses.length, isInFewest: true });
      });
    }),
    size.runs,
  );
});

it.each(sizes)("who was listed, touched or removed is told of every server: %s", (_, size) => {
  fc.assert(
    fc.property(size.worlds, (world) => {
      play(world, ({ sighting, worldBefore, expected }) => {
        const touched = Array.from(sighting.touched(new Set(statuses)))
          .flat()
          .map(({ server, from }) => [keyOf(server), from]);
        const froms = new Map(expected.changes.map((change) => [keyOf(change), change.from]));
        expect(touched.map(String).toSorted()).toEqual(
          Array.from(expected.touched, (key) => String([key, froms.get(key) ?? null])).toSorted(),
        );
        const known = [...worldBefore.servers.values(), ...expected.world.servers.values()];
        const isListed = (row: ServerId): boolean => sighting.listedServer(row) !== null;
        const told = known.map((row) => [keyOf(row), isListed(row), sighting.isRemoved(row)]);
        expect(told).toEqual(
          known.map(keyOf).map((key) => [key, expected.listed.has(key), expected.removed.has(key)]),
        );
        const ruled = new Set(["error", "unknown"] as const);
        const due = [...expected.listed].filter((key) => {
          const status = expected.world.servers.get(key)?.status;
          return status === "error" || status === "unknown";
        });
        expect(Array.from(sighting.listed(ruled)).flat().map(keyOf).toSorted()).toEqual(
          due.toSorted(),
        );
        expect(isListed({ sandboxId: "nowhere", serverId: "a" })).toBe(false);
      });
    }),
    size.runs,
  );
});

it.each(sizes)("every sandbox and server is found by its ids, and no other is: %s", (_, size) => {
  fc.assert(
    fc.property(size.worlds, (world) => {
      play(world, ({ sighting: { snapshot }, worldBefore, expected: { world: after } }) => {
        const ids = [...worldBefore.sandboxes.keys(), ...after.sandboxes.keys()];
        const sandboxes = ids.map((id) => snapshot.sandbox(id));
        expect(sandboxes).toEqual(ids.map((id) => after.sandboxes.get(id)));
        const rows = [...worldBefore.servers.values(), ...after.servers.values()];
        const servers = rows.map((row) => snapshot.server(row.sandboxId, row.serverId));
        expect(servers).toEqual(rows.map((row) => after.servers.get(keyOf(row))));
        const inOrder = Array.from(snapshot.sandboxes(), ({ sandboxId }) => sandboxId);
        expect(inOrder.map((id) => snapshot.ordinalOf(seekId(id)))).toEqual([...inOrder.keys()]);
        const idAt = (ordinal: number): string => {
          const { page, sandbox } = snapshot.placeOf(ordinal);
          return page.sandboxId(sandbox);
        };
        expect(Array.from(inOrder.keys(), idAt)).toEqual(inOrder);
      });
    }),
    size.runs,
  );
});

it.each(sizes)("a snapshot stays as it is when later listings are taken in: %s", (_, size) => {
  fc.assert(
    fc.property(size.worlds, (world) => {
      const seen: { snapshot: PackedSnapshot; rows: unknown; tallies: unknown; words: string }[] =
        [];
      const wordsOf = ({ pages }: PackedSnapshot): string =>
        pages.map(({ words, legend }) => `${words.join()} ${JSON.stringify(legend)}`).join("\n");
      play(world, ({ sighting: { snapshot } }) => {
        const [rows, tallies] = [rowsOf(snapshot), talliesOf(snapshot)];
        seen.push({ snapshot, rows, tallies, words: wordsOf(snapshot) });
      });
      for (const { snapshot, rows, tallies, words } of seen) {
        expect([rowsOf(snapshot), talliesOf(snapshot)]).toEqual([rows, tallies]);
        expect(wordsOf(snapshot)).toBe(words);
      }
    }),
    size.runs,
  );
});

it.each(sizes)(
  "pages taken from one snapshot to the next give it after a restart: %s",
  (_, size) => {
    fc.assert(
      fc.property(size.worlds, (world) => {
        const stored = new Map<number, Page>();
        play(world, ({ before, sighting: { snapshot } }) => {
          const ids = snapshot.pages.map(({ id }) => id);
          expect(new Set(ids).size).toBe(ids.length);
          expect(Math.max(0, ...ids)).toBeLessThan(snapshot.nextPageId);
          const { replaced, removed } = pageDelta(before.pages, snapshot.pages);
          for (const { before: old, after } of replaced) {
            expect(old).toBe(before.pages.find(({ id }) => id === after.id) ?? null);
            stored.set(after.id, pageOf(after, after.words));
          }
          for (const id of removed) expect(stored.delete(id)).toBe(true);
          expect(new Set(stored.keys())).toEqual(new Set(ids));
          const restored = restoreSnapshot([...stored.values()].toSorted((a, b) => a.id - b.id));
          expect(rowsOf(restored)).toEqual(rowsOf(snapshot));
          expect(talliesOf(restored)).toEqual(talliesOf(snapshot));
          expect(restored.sandboxTally).toEqual(snapshot.sandboxTally);
          expect(restored.serverCount).toBe(snapshot.serverCount);
        });
      }),
      size.runs,
    );
  },
);

it.each(sizes)(
  "a page before which and of which nothing changed is the same one in the next: %s",
  (_, size) => {
    fc.assert(
      fc.property(size.worlds, (world) => {
        play(world, ({ poll, before, sighting: { snapshot } }) => {
          // What a partial listing leaves out of a sandbox stays as it was, but is written anew.
          if (!poll.listing.complete) return;
          const sameOrder = poll.listing.sandboxes.map(({ sandboxId }) => sandboxId).join();
          const order = Array.from(before.sandboxes(), ({ sandboxId }) => sandboxId).join();
          if (order !== sameOrder) return;
          const after = new Set(snapshot.pages);
          for (const page of before.pages) {
            const isSame = Array.from({ length: page.sandboxCount }, (_each, sandbox) => {
              const { sandboxId } = page.sandboxRow(sandbox);
              const contents = [before, snapshot].map((each) =>
                JSON.stringify([each.sandbox(sandboxId), ...each.serversOf(sandboxId)]),
              );
              return contents[0] === contents[1];
            }).every(Boolean);
            if (!isSame) return;
            expect(after.has(page)).toBe(true);
          }
        });
      }),
      size.runs,
    );
  },
);

it.each(sizes)("what was taken in before a restart of the reading is void: %s", (_, size) => {
  fc.assert(
    fc.property(size.worlds, (world) => {
      const [first, second] = [world.polls[0], world.polls.at(-1)];
      if (!first || !second) return;
      const reader = createMarkedReader();
      const opened = openIntake(emptySnapshot, world);
      reader.read(opened, first.listing.sandboxes);
      const options = { atMs: 5, observedMs: 5, witnessed: true, complete: true };
      const { snapshot } = atOnce(opened.finish(options));
      const finish = (wrong: Poll | null): Sighting => {
        const intake = openIntake(snapshot, world);
        if (wrong) {
          reader.read(intake, wrong.listing.sandboxes);
          intake.restart();
        }
        expect(intake.sandboxCount).toBe(0);
        reader.read(intake, second.listing.sandboxes);
        return atOnce(intake.finish({ ...options, atMs: 9, complete: second.listing.complete }));
      };
      const [straight, restarted] = [finish(null), finish(world.polls[1] ?? first)];
      expect(rowsOf(restarted.snapshot)).toEqual(rowsOf(straight.snapshot));
      expect(talliesOf(restarted.snapshot)).toEqual(talliesOf(straight.snapshot));
      expect(changesOf(restarted.changes)).toEqual(changesOf(straight.changes));
      expect(spelledOut(restarted.snapshot)).toEqual(spelledOut(straight.snapshot));
    }),
    size.runs,
  );
});
