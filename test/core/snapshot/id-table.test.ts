import * as fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { IdTable, SoughtId, seekId } from "../../../src/core/snapshot/id-table.ts";
import { packUuid, unpackUuid } from "../../../src/core/snapshot/packed-id.ts";

const nearlyUuid = fc
  .tuple(fc.uuid(), fc.nat(35), fc.constantFrom("", "g", "A", "-", "é", "0"))
  .map(([uuid, at, other]) => uuid.slice(0, at) + other + uuid.slice(at + 1));
const ids = fc.oneof(fc.uuid(), nearlyUuid, fc.string({ maxLength: 40, unit: "binary" }));

describe("a packed id", () => {
  it("is unpacked to the very text that it was, and what is not unpacked so is not packed", () => {
    fc.assert(
      fc.property(ids, (id) => {
        const words = new Uint32Array(6);
        const isUuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id);
        expect(packUuid(id, words, 1)).toBe(isUuid);
        expect(unpackUuid(words, 1) === id).toBe(isUuid);
        expect([words[0], words[5]]).toEqual([0, 0]);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("a table of ids", () => {
  it("finds each id by the number of its turn, and no other", () => {
    fc.assert(
      fc.property(fc.uniqueArray(ids, { maxLength: 200 }), (known) => {
        const table = new IdTable();
        const [added, strange] = [known.slice(0, 150), known.slice(150)];
        for (const id of added) table.add(seekId(id));
        expect(added.map((id) => table.find(seekId(id)))).toEqual([...added.keys()]);
        for (const id of strange) expect(table.find(seekId(id))).toBe(-1);
      }),
      { numRuns: 50 },
    );
  });

  it.each([
    [1_000, 1_000],
    [5_000, 3],
  ])("finds all of %d texts and %d UUIDs, whichever came first", (texts, uuids) => {
    const text = Array.from({ length: texts }, (_, index) => `text-${index}`);
    const uuid = Array.from(
      { length: uuids },
      (_, index) => `0000000${index % 9}-0000-0000-0000-${String(index).padStart(12, "0")}`,
    );
    for (const known of [
      [...text, ...uuid],
      [...uuid, ...text],
    ]) {
      const table = new IdTable();
      const sought = new SoughtId();
      for (const id of known) table.add(sought.set(id));
      expect(known.map((id) => table.find(sought.set(id)))).toEqual([...known.keys()]);
    }
  });

  const uuids = Array.from(
    { length: 1_000 },
    (_, index) => `0000000${index % 9}-0000-0000-0000-${String(index).padStart(12, "0")}`,
  );

  it("finds each id at any time while a larger table is filled", () => {
    const table = new IdTable();
    const sought = new SoughtId();
    for (const [added, id] of uuids.entries()) {
      expect(table.find(sought.set(id))).toBe(-1);
      table.add(sought);
      expect(uuids.findLastIndex((each) => table.find(sought.set(each)) >= 0)).toBe(added);
      expect(uuids.findIndex((each) => table.find(sought.set(each)) < 0)).toBe(
        added + 1 < uuids.length ? added + 1 : -1,
      );
    }
  });

  it("hashes no more than a few ids anew for each that is added, however many it holds", () => {
    const multiply = vi.spyOn(Math, "imul");
    onTestFinished(() => multiply.mockRestore());
    const work = (added: readonly string[]): number => {
      const table = new IdTable();
      const each = added.map((id) => {
        const sought = seekId(id);
        multiply.mockClear();
        table.add(sought);
        return multiply.mock.calls.length;
      });
      return Math.max(...each);
    };
    const once = work(uuids.slice(0, 1));
    expect(once).toBeGreaterThan(0);
    expect(work(uuids)).toBeLessThanOrEqual(once * 17);
  });
});
