import { Buffer } from "node:buffer";
import { expect, it } from "vitest";
import { freeBuffer } from "../../src/platform/free-buffer.ts";

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
