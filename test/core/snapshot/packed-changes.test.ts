import { describe, expect, it } from "vitest";
import { ChangePacker, PackedChanges } from "../../../src/core/snapshot/packed-changes.ts";
import { beginningOfUuid, packUuid } from "../../../src/core/snapshot/packed-id.ts";
import { unpackedIn } from "../support/unpacked.ts";

const uuid = "0a1b2c3d-4e5f-4071-8293-a4b5c6d7e8f9";
const ids = { sandboxId: "box", serverId: uuid, serverName: null };

function packed(stayMs: number | null) {
  const packer = new ChangePacker(1);
  packer.add(ids, { from: "absent", to: "error", stayMs, lapse: null });
  expect(packer.isFull).toBe(true);
  return packer.finish();
}

describe("a packed change", () => {
  it.each([
    [null, null],
    [0, 0],
    [1_000.4, 1_000],
    [2 ** 32 - 1, 2 ** 32 - 1],
    [2 ** 32, 2 ** 32],
    [400 * 86_400_000 + 0.6, 400 * 86_400_000 + 1],
  ])("keeps a stay in whole milliseconds, however long: %s", (stayMs, kept) => {
    expect(unpackedIn(packed(stayMs))).toEqual([
      { ...ids, from: "absent", to: "error", stayMs: kept, lapse: null },
    ]);
  });

  it("takes 44 bytes, and its texts once for all", () => {
    const packer = new ChangePacker(3);
    for (const lapse of [null, "missing", "seen"] as const) {
      packer.add(
        { sandboxId: "box", serverId: "é", serverName: "é" },
        { from: "idle", to: "idle", stayMs: null, lapse },
      );
    }
    const { words, texts } = packer.finish();
    expect([words.byteLength, texts]).toEqual([3 * 44, ["", "é", "box"]]);
  });

  it("that is not whole is no change", () => {
    expect(() => new PackedChanges(new Uint32Array(10), [""])).toThrow(RangeError);
  });
});

describe("the beginning of a UUID", () => {
  const words = new Uint32Array(4);
  packUuid(uuid, words, 0);
  const all = Buffer.from(words.buffer);

  it("is found among the bytes of the whole one, of whatever length it is", () => {
    for (let length = 2; length <= uuid.length; length += 1) {
      const bytes = beginningOfUuid(uuid.slice(0, length));
      expect(bytes?.length).toBeGreaterThan(0);
      expect(all.includes(Buffer.from(bytes ?? "nothing"))).toBe(true);
    }
    expect(beginningOfUuid(uuid)).toHaveLength(16);
  });

  it.each(["", "0", "0A", "0a1b2c3d4", "box", `${uuid}0`])("is not %j", (text) => {
    expect(beginningOfUuid(text)).toBeNull();
  });
});
