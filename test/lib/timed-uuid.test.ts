import { expect, it } from "vitest";
import { z } from "zod";
import { timedUuid } from "../../src/lib/timed-uuid.ts";

const moments = [0, 1, 4_095, 1_795_000_000_000, 1_795_000_000_001, 2 ** 48 - 1];

it.each(moments)("a timed UUID of %d ms is one of version 7, and contains its time", (utcMs) => {
  const id = timedUuid(utcMs);
  expect(z.uuidv7().parse(id)).toBe(id);
  expect(Number.parseInt(id.replace("-", "").slice(0, 12), 16)).toBe(utcMs);
});

it("timed UUIDs are in the order of their times", () => {
  const ids = moments.map(timedUuid);
  expect(ids.toSorted()).toEqual(ids);
});

it("timed UUIDs of one moment differ", () => {
  const ids = Array.from({ length: 1_000 }, () => timedUuid(1_795_000_000_000));
  expect(new Set(ids).size).toBe(ids.length);
});
