import * as fc from "fast-check";
import { expect, it } from "vitest";
import { bodyOf, createTarget, items, itemText, many, nameOf } from "../support/known-target.ts";

const edits = [
  "restate",
  "touch",
  "remark",
  "rename",
  "null",
  "swap",
  "far",
  "twin",
  "insert",
  "remove",
] as const;

function edited(list: readonly string[], [kind, at, to]: readonly [string, number, number]) {
  const place = at % Math.max(1, list.length);
  const name = /"local_sandbox_id":"([^"]*)"/.exec(list[place] ?? "")?.[1] ?? "none";
  switch (kind) {
    case "restate":
      return list.with(place, itemText(name, to % 2 === 0 ? "error" : "occupied"));
    case "touch":
      return list.with(place, itemText(name, "idle", { created_at: `2026-01-01T00:00:00.${to}Z` }));
    case "remark":
      return list.with(place, itemText(name, "idle", { odd: to }));
    case "rename":
      return list.with(place, (list[place] ?? "null").replace("created_at", "created_ax"));
    case "null":
      return list.toSpliced(place, 0, "null");
    case "swap":
      return list.toSpliced(place, 2, ...list.slice(place, place + 2).toReversed());
    case "far":
      return list.toSpliced(place, 1).toSpliced(to % list.length, 0, list[place] ?? "null");
    case "twin":
      return list.toSpliced(to % list.length, 0, list[place] ?? "null");
    case "insert":
      return list.toSpliced(place, 0, itemText(nameOf("new", to), "idle"));
    default:
      return list.toSpliced(place, 1 + (to % 96));
  }
}

const place = fc.nat(many * 2);
const gap = fc.constantFrom(",", ",", ", ", "\n,\n");
const polls = fc.array(
  fc.record({
    edits: fc.array(fc.tuple(fc.constantFrom(...edits), place, place), { maxLength: 2 }),
    layout: fc.record(
      { gap, oddGap: fc.tuple(place, gap), totalCount: fc.constantFrom(many, 7) },
      { requiredKeys: [] },
    ),
    times: fc.integer({ min: 1, max: 5 }),
    sizes: fc.constantFrom([], [4_096], [37, 1_000]),
  }),
  { minLength: 1, maxLength: 5 },
);

it("whatever came how often, what is taken at once tells what each sandbox would", () => {
  let expected = 0;
  fc.assert(
    fc.property(polls, (steps) => {
      const [knowing, forgetful] = [createTarget(), createTarget({ remembers: false })];
      let list = items;
      for (const { edits: each, layout, times, sizes } of steps) {
        list = each.reduce(edited, list);
        const body = bodyOf(list, layout);
        for (let time = 0; time < times; time++) {
          const known = knowing.read(body, { sizes });
          expect(known.told).toEqual(forgetful.read(body).told);
          expected += known.expected;
        }
      }
    }),
    { numRuns: 40 },
  );
  expect(expected).toBeGreaterThan(0);
});
