import { expect, it } from "vitest";
import { shortId } from "../../src/lib/random.ts";

it("a short id is eight characters, none of which is read as another one", () => {
  const ids = Array.from({ length: 2_000 }, () => shortId());
  expect(ids.filter((id) => !/^[2-9a-hjkmnp-z]{8}$/.test(id))).toEqual([]);
  expect(new Set(ids).size).toBe(ids.length);
  expect(new Set(ids.join("")).size).toBe(31);
});
