import { expect, it } from "vitest";
import { changesPerPiece } from "../../../src/core/snapshot/changes.ts";
import type { Changes } from "../../../src/core/snapshot/changes.ts";
import { emptySnapshot } from "../../../src/core/snapshot/packed-snapshot.ts";
import { listedSandbox, listedServer } from "../support/samples.ts";
import { unpackedIn } from "../support/unpacked.ts";
import { bring } from "../support/worlds.ts";

/** All the servers of one sandbox appear. */
function appearances(servers: number): Changes {
  const listed = Array.from({ length: servers }, (_, index) => listedServer(`${index}`, "idle"));
  const sandboxes = [listedSandbox("box", listed)];
  return bring(emptySnapshot, { sandboxes, complete: true }).sighting.changes;
}

function idsOf(changes: Changes): readonly string[] {
  return Array.from(changes.pieces()).flatMap((piece) =>
    unpackedIn(piece).map(({ serverId }) => serverId),
  );
}

it("are packed once for all who ask, and anew after they were forgotten", () => {
  const changes = appearances(changesPerPiece + 5);
  const pieces = [...changes.pieces()];
  expect(pieces.map(({ length }) => length)).toEqual([changesPerPiece, 5]);
  const before = idsOf(changes);
  for (const piece of changes.pieces()) changes.leave(piece);
  expect([...changes.pieces()]).toEqual(pieces);
  expect([...changes.pieces()][1]).toBe(pieces[1]);

  changes.forgetPieces();
  expect(pieces.map(({ words }) => words.length)).toEqual([0, 0]);
  expect(idsOf(changes)).toEqual(before);
});

it("are packed once though somebody asked only for the first ones", () => {
  const changes = appearances(changesPerPiece * 2);
  for (const { serverId } of changes) {
    expect(serverId).toBe("0");
    break;
  }
  const all = idsOf(changes);
  expect(all).toHaveLength(changesPerPiece * 2);
  expect([...changes.pieces()][1]).toBe([...changes.pieces()][1]);
});

it("of very many, a piece takes memory until it is left", () => {
  const changes = appearances(65 * changesPerPiece);
  let last = -1;
  for (const piece of changes.pieces()) {
    const ids = unpackedIn(piece).map(({ serverId }) => Number(serverId));
    expect(ids).toEqual(ids.map((_, index) => last + 1 + index));
    last = ids.at(-1) ?? -1;
    changes.leave(piece);
    expect(piece.words).toHaveLength(0);
  }
  expect(last).toBe(65 * changesPerPiece - 1);
});

it("that are few are told without going through the lapses behind them, however many", () => {
  const sandboxes = Array.from({ length: 66 }, (_, box) =>
    listedSandbox(
      `${box}`,
      Array.from({ length: changesPerPiece }, (__, id) => listedServer(`${box}-${id}`, "idle")),
    ),
  );
  const { snapshot } = bring(emptySnapshot, { sandboxes, complete: true });
  const broken = listedSandbox("0", [listedServer("0-0", "error")]);
  const { changes } = bring(
    snapshot,
    { sandboxes: [broken], complete: true },
    { goneAfter: 2 },
  ).sighting;
  expect([changes.length, changes.lapseCount]).toEqual([1, 66 * changesPerPiece - 1]);
  let packed = 0;
  const pack = changes.packed.bind(changes);
  Object.assign(changes, {
    *packed(atOnce: number) {
      for (const piece of pack(atOnce)) {
        packed++;
        yield piece;
      }
    },
  });
  expect(Array.from(changes, ({ serverId }) => serverId)).toEqual(["0-0"]);
  expect(packed).toBe(1);
});

it("are not looked at on after they were forgotten", () => {
  const changes = appearances(changesPerPiece * 2);
  expect(() => {
    for (const piece of changes.pieces()) {
      expect(piece.words.length).toBeGreaterThan(0);
      changes.forgetPieces();
    }
  }).toThrow(RangeError);
});
