import { Buffer } from "node:buffer";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { freeSoon } from "../../src/service/http-get.ts";

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
