import { Buffer } from "node:buffer";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { freeBuffer, freeSoon } from "../../src/platform/free-buffer.ts";

it("the memory of bytes that have a buffer to themselves is given back", () => {
  const bytes = new Uint8Array(100);
  freeBuffer(bytes);
  expect(bytes.buffer.byteLength).toBe(0);
});

it("bytes that share a buffer with others stay, and so do the others", () => {
  const shared = Buffer.alloc(100, "a");
  freeBuffer(shared.subarray(0, 50));
  expect(shared.toString()).toBe("a".repeat(100));
});

it("there is nothing to give back of no bytes", () => {
  const nothing = new Uint8Array(0);
  freeBuffer(nothing);
  expect(nothing.length).toBe(0);
});

it.each([20, 46_000, 64 * 1024])(
  "a buffer of %i bytes that is freed for a part of it is there for this turn of the event loop",
  async (bytes) => {
    const whole = new Uint8Array(bytes);
    freeSoon(whole.subarray(10));
    expect(whole).toHaveLength(bytes);
    await nextTurn();
    expect(whole.buffer.detached).toBe(true);
  },
);

it("the pool that short buffers share is not freed for one of them", async () => {
  const [short, other] = [Buffer.concat([Buffer.from("a"), Buffer.from("b")]), Buffer.from("c")];
  expect(other.buffer).toBe(short.buffer);
  freeSoon(short);
  await nextTurn();
  expect([short, other, Buffer.from("d")].map(String)).toEqual(["ab", "c", "d"]);
});
