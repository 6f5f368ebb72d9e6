import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createLegendReader, legendToJson } from "../../src/store/legend-json.ts";

const text = fc.option(fc.constantFrom("", "git", "[]", "沙箱"), { nil: null });
const tags = fc.array(fc.constantFrom("", "prod", '["prod"]'), { maxLength: 3 });
const legend = fc.record({
  texts: fc.array(fc.string()),
  kinds: fc.array(fc.record({ serverName: text, benchmark: text, tags })),
});

describe("legends", () => {
  it("are read as they were written, each one after others of its target", () => {
    fc.assert(
      fc.property(fc.array(legend), (legends) => {
        const read = createLegendReader();
        expect(legends.map(legendToJson).map(read)).toEqual(legends);
      }),
    );
  });

  it.each([
    ["no list", "{}"],
    ["without kinds", "[[]]"],
    ["with a text that is a number", "[[1],[]]"],
    ["with a kind that is a number", "[[],[1]]"],
    ["with a kind without tags", '[[],["git",["git",null]]]'],
    ["with a tag that is null", '[[],[["git",null,[null]]]]'],
  ])("are refused %s", (_, json) => {
    expect(() => createLegendReader()(json)).toThrow(z.ZodError);
  });
});
