import { describe, expect, it } from "vitest";
import { withLabelledKeys } from "../../src/api/labelled-keys.ts";

const keyOf = (name: string, labels: Readonly<Record<string, string>>) => ({
  name,
  labels: new Map(Object.entries(labels)),
});
const keys = [
  keyOf("a", { team: "search", tier: "gold" }),
  keyOf("b", { team: "search" }),
  keyOf("c", {}),
];

describe("labels of keys in a request", () => {
  it("select the keys that have all of them, within the keys that are named", () => {
    const selected = (label: readonly string[], key: readonly string[] = []) =>
      withLabelledKeys({ key, label }, keys).key;
    expect(selected(["team=search"])).toEqual(["a", "b"]);
    expect(selected(["team=search", "tier=gold"])).toEqual(["a"]);
    expect(selected(["team=search"], ["b", "c"])).toEqual(["b"]);
    expect(selected([], ["c"])).toEqual(["c"]);
  });

  it("that no key has are refused with those that there are, instead of selecting every key", () => {
    for (const label of ["team=sales", "team", "tier=gold,b"]) {
      const request = { key: ["b"], label: label.split(",") };
      expect(() => withLabelledKeys(request, keys)).toThrow(
        /^No key has .+ known: team=search, tier=gold$/,
      );
    }
    expect(() => withLabelledKeys({ label: ["a=b"] }, [])).toThrow(/known: none$/);
  });
});
