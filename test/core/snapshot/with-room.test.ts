import { expect, it } from "vitest";
import { withRoom } from "../../../src/core/snapshot/with-room.ts";

it("words that have room stay where they are", () => {
  const words = Uint32Array.of(1, 2);
  expect(withRoom(words, 2)).toBe(words);
  expect([...words]).toEqual([1, 2]);
});

it("words without room are moved, and what they were in is given back", () => {
  const words = Uint32Array.of(1, 2);
  expect([...withRoom(words, 3).subarray(0, 3)]).toEqual([1, 2, 0]);
  expect(words.buffer.detached).toBe(true);
});
