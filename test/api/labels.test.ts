import { describe, expect, it } from "vitest";
import { withLabelledKeys } from "../../src/api/labelled-keys.ts";
import { listChanges } from "../../src/api/operations/changes.ts";
import { listIncidents } from "../../src/api/operations/incidents.ts";
import { reportOccupancy } from "../../src/api/operations/occupancy.ts";
import { listTargets } from "../../src/api/operations/targets.ts";
import { watchWorld } from "../support/watched-world.ts";
import { refusal } from "./support/api-world.ts";

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

  it("filter targets, incidents, changes and reports of a daemon", async () => {
    const world = await watchWorld({ alerts: { labels: { team: "search" } } });
    await world.poll();
    world.show(0, "error");
    await world.poll();
    const { api } = world.daemon();
    const label = "team=search";
    expect((await api(listTargets, { label })).targets).toHaveLength(1);
    expect((await api(listIncidents, { label })).incidents).toHaveLength(1);
    expect((await api(listChanges, { label, status: "error" })).changes).toHaveLength(2);
    expect((await api(reportOccupancy, { label, from: "1h" })).rows).toHaveLength(1);
    const unknown = refusal("invalid", "No key has team=sales");
    await expect(api(listIncidents, { label: "team=sales" })).rejects.toMatchObject(unknown);
  });
});
