import { describe, expect, it } from "vitest";
import { atOnce } from "../../../src/core/in-steps.ts";
import { openIntake } from "../../../src/core/snapshot/intake.ts";
import { emptySnapshot } from "../../../src/core/snapshot/packed-snapshot.ts";
import type { PackedSnapshot } from "../../../src/core/snapshot/packed-snapshot.ts";
import { TextIndex } from "../../../src/core/snapshot/text-index.ts";
import { listedSandbox } from "../support/samples.ts";

/** @param hashOf of the text of each; null for one without a mark */
function snapshotOf(count: number, hashOf: (place: number) => bigint | null): PackedSnapshot {
  const intake = openIntake(emptySnapshot, { goneAfter: 1 });
  for (let place = 0; place < count; place++) {
    const hash = hashOf(place);
    const mark =
      hash === null
        ? null
        : {
            length: 10 + (place % 3),
            hash,
            steadyHash: 0n,
            steadyLength: 0,
            openStatuses: "none" as const,
            note: 0,
          };
    intake.listed(listedSandbox(`box-${place}`, []), mark);
  }
  return atOnce(intake.finish({ complete: true, atMs: 1, observedMs: 1, witnessed: true }))
    .snapshot;
}

/** After so many questions that all is added. */
function wholeIndex(snapshot: PackedSnapshot): TextIndex {
  const index = new TextIndex(snapshot);
  for (let asked = 0; asked < snapshot.pages.length; asked++) index.find(1, 1n);
  return index;
}

const spread = (place: number): bigint => BigInt.asUintN(64, BigInt(place) * 0x9e3779b97f4a7c15n);

describe("an index of texts", () => {
  it("finds each by its length and hash together, and none that was not marked", () => {
    const snapshot = snapshotOf(3_000, (place) => (place % 5 === 0 ? null : spread(place)));
    const index = wholeIndex(snapshot);
    for (let place = 0; place < 3_000; place++) {
      const length = 10 + (place % 3);
      expect(index.find(length, spread(place))).toBe(place % 5 === 0 ? -1 : place);
      expect(index.find(length + 1, spread(place))).toBe(-1);
    }
  });

  it("finds nothing else than what it was asked for while it is not whole", () => {
    const index = new TextIndex(snapshotOf(3_000, spread));
    const found = Array.from({ length: 3_000 }, (_, place) => 2_999 - place).map(
      (place) => [place, index.find(10 + (place % 3), spread(place))] as const,
    );
    for (const [place, ordinal] of found) expect([-1, place]).toContain(ordinal);
    expect(found.filter(([, ordinal]) => ordinal === -1).length).toBeLessThan(10);
  });

  it("gives up on texts whose hashes begin alike, rather than search long", () => {
    const alike = (place: number): bigint => BigInt(place) << 32n;
    const index = wholeIndex(snapshotOf(3_000, alike));
    const found = Array.from({ length: 3_000 }, (_, place) =>
      index.find(10 + (place % 3), alike(place)),
    );
    expect(found.filter((ordinal, place) => ordinal === place).length).toBe(32);
    expect(found.filter((ordinal) => ordinal === -1).length).toBe(3_000 - 32);
  });

  it("of nothing finds nothing", () => {
    expect(new TextIndex(emptySnapshot).find(10, 0n)).toBe(-1);
  });
});
