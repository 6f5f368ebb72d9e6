import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { firstServers } from "../../../src/core/snapshot/first-servers.ts";
import type { ServerSelection } from "../../../src/core/snapshot/first-servers.ts";
import { emptySnapshot } from "../../../src/core/snapshot/packed-snapshot.ts";
import type { ServerId, ServerRow, Snapshot } from "../../../src/core/snapshot/snapshot.ts";
import { listedSandbox, listedServer } from "../support/samples.ts";
import { bring, snapshotOf } from "../support/worlds.ts";

function first({ pages }: Snapshot, selection: Partial<ServerSelection> = {}) {
  const steps = firstServers(pages, {
    after: null,
    limit: 1_000_000,
    isWanted: () => true,
    ...selection,
  });
  for (let count = 0; ; count++) {
    const step = steps.next();
    if (step.done) return { rows: step.value, steps: count };
  }
}

function idOf({ sandboxId, serverId }: ServerId): string {
  return JSON.stringify([sandboxId, serverId]);
}

function inOrder(rows: Iterable<ServerRow>): readonly ServerRow[] {
  return [...rows].toSorted((a, b) =>
    a.sandboxId === b.sandboxId
      ? a.serverId < b.serverId
        ? -1
        : 1
      : a.sandboxId < b.sandboxId
        ? -1
        : 1,
  );
}

const ids = fc.oneof(fc.uuid(), fc.string({ maxLength: 3, unit: "grapheme" }));
const worlds = fc
  .uniqueArray(fc.record({ id: ids, servers: fc.uniqueArray(ids, { maxLength: 4 }) }), {
    selector: ({ id }) => id,
    maxLength: 60,
  })
  .map((sandboxes) => ({
    complete: true,
    sandboxes: sandboxes.map(({ id, servers }) =>
      listedSandbox(
        id,
        servers.map((server) => listedServer(server, "idle")),
      ),
    ),
  }));

describe("the first servers", () => {
  it("page after page are all of them in order of their ids, whatever order they are listed in", () => {
    fc.assert(
      fc.property(worlds, fc.integer({ min: 1, max: 7 }), (world, limit) => {
        const snapshot = snapshotOf(world);
        const read: ServerRow[] = [];
        for (let after: ServerId | null = null; ;) {
          const { rows } = first(snapshot, { after, limit });
          read.push(...rows);
          after = rows.at(-1) ?? null;
          if (rows.length < limit || read.length > 1_000) break;
        }
        expect(read).toEqual(inOrder(snapshot.servers()));
      }),
    );
  });

  it("are each given once, while others come, go and are listed elsewhere", () => {
    fc.assert(
      fc.property(fc.array(worlds, { minLength: 1, maxLength: 8 }), (seen) => {
        const lasting = listedSandbox("m", [listedServer("1", "idle"), listedServer("2", "idle")]);
        const read: string[] = [];
        let snapshot = emptySnapshot;
        let after: ServerId | null = null;
        const worldsToCome = [...seen];
        for (;;) {
          const world = worldsToCome.shift();
          const others = world?.sandboxes.filter(({ sandboxId }) => sandboxId !== "m");
          const middle = (others?.length ?? 0) >> 1;
          const sandboxes = others?.toSpliced(middle, 0, lasting);
          if (sandboxes) ({ snapshot } = bring(snapshot, { complete: true, sandboxes }));
          const { rows } = first(snapshot, { after, limit: 3 });
          read.push(...rows.map(idOf));
          after = rows.at(-1) ?? after;
          if (rows.length < 3) break;
        }
        expect(new Set(read).size).toBe(read.length);
        expect(read).toEqual(expect.arrayContaining(['["m","1"]', '["m","2"]']));
      }),
    );
  });

  it("are those that are wanted, of many taken in short steps", () => {
    const count = 20_000;
    const sandboxes = Array.from({ length: count }, (_, index) =>
      listedSandbox(`box-${(index * 7_919) % count}`, [
        listedServer("s", index % 1_000 === 0 ? "error" : "idle"),
      ]),
    );
    const snapshot = snapshotOf({ complete: true, sandboxes });
    const { rows, steps } = first(snapshot, {
      limit: 5,
      isWanted: (page, sandbox, server) =>
        page.serverRow(server, page.sandboxId(sandbox)).status === "error",
    });
    const erring = [...snapshot.servers()].filter(({ status }) => status === "error");
    expect(rows).toEqual(inOrder(erring).slice(0, 5));
    expect(steps).toBeGreaterThan(10);
  });
});
