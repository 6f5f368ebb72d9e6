import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { describedSettings } from "../../generate/config-schema.ts";
import { settingRows } from "../../generate/settings-rows.ts";
import type { SettingRow } from "../../generate/settings-rows.ts";
import { valueAt } from "../../src/config/evidence.ts";
import { parseConfig } from "../../src/config/load-config.ts";
import { faultLines } from "./support.ts";
import { withAt } from "./whole-example.ts";
import type { Place } from "./whole-example.ts";

const hold = { polls: 3 };
const url = "https://a.example.com";

/** What must be given, of each kind of rule and receiver, in mappings that need not be there, too. */
const needed = {
  regions: { us: { base_url: url } },
  keys: [{ name: "research", api_key: "k1" }],
  probes: [{ name: "login", operation: "user", id: "u" }],
  alerts: {
    rules: [
      { name: "a", on: "server", status: "error", for: hold, flap: { changes: 1, within: "1h" } },
      { name: "b", on: "target", failing: hold },
      { name: "c", on: "target", auth: hold },
      { name: "p", on: "target", partial: hold },
      ...["occupied_ratio", "error_ratio", "idle", "servers"].flatMap((measure) => [
        { name: `${measure}-above`, on: "pool", [measure]: { above: 0 } },
        { name: `${measure}-below`, on: "pool", [measure]: { below: 1 } },
      ]),
      { name: "d", on: "probe", failing: hold, flap: { changes: 1, within: "1h" } },
    ],
    receivers: [
      { name: "a", type: "webhook", url },
      { name: "b", type: "slack", url },
      { name: "c", type: "pagerduty", routing_key: "0".repeat(32) },
      { name: "d", type: "alertmanager", urls: [url] },
      { name: "e", type: "heartbeat", url },
    ],
    maintenance: [
      { name: "a", start: "0 2 * * *", duration: "1h", match: { rule: "*", key: "*" } },
    ],
  },
};

const rows = settingRows(describedSettings());

/** Where a row's setting stands, or would, of each kind that has it. */
function placesOf({ path, kinds }: SettingRow): readonly Place[] {
  const parts = path.replaceAll("[]", ".[]").split(".");
  const places = parts.reduce<readonly Place[]>(
    (above, part) =>
      above.flatMap((place) => {
        const value = valueAt(needed, place);
        if (part === "[]") return Array.isArray(value) ? value.map((_, at) => [...place, at]) : [];
        const names = part === "<name>" ? Object.keys(value ?? {}) : [part];
        return names.map((name) => [...place, name]);
      }),
    [[]],
  );
  return places.filter((place) => kinds.length === 0 || kinds.includes(kindAt(place)));
}

function kindAt(place: Place): string {
  const item = place.slice(0, 3);
  return String(valueAt(needed, [...item, "on"]) ?? valueAt(needed, [...item, "type"]));
}

function documentedPaths(): readonly string[] {
  const document = readFileSync(join(import.meta.dirname, "../../docs/configuration.md"), "utf8");
  const rowsOfDocument = document.matchAll(/^\| `([\w.<>[\]]+)` /gm);
  return [...new Set(Array.from(rowsOfDocument, ([, path = ""]) => path))].toSorted();
}

function pathOf(place: Place): string {
  const parts = place.map((part, at) =>
    typeof part === "number" ? "[]" : at === 1 && place[0] === "regions" ? "<name>" : part,
  );
  return parts.join(".").replaceAll(".[]", "[]");
}

/** An unknown setting is answered with those that are known in its place. */
function namesKnownAt(place: Place): readonly string[] {
  const lines = faultLines(parseConfig(withAt(needed, [...place, "no_such_setting"], 1)));
  const known = lines.map(
    (line) => /no_such_setting: found an unknown setting; allowed: ([^;]+)/.exec(line)?.[1],
  );
  return known.flatMap((names) => names?.split(", ") ?? []);
}

describe("the document of settings", () => {
  it("has a row for each that sandwatch knows, and no other", () => {
    const holders = new Set(rows.map(({ path }) => path.slice(0, path.lastIndexOf("."))));
    const places = rows
      .flatMap((row) =>
        ["", "[]", ".<name>"].flatMap((within) => placesOf({ ...row, path: row.path + within })),
      )
      .filter((place) => holders.has(pathOf(place)));
    const each = new Map([[], ...places].map((place) => [JSON.stringify(place), place]));
    const known = [...each.values()].flatMap((place) =>
      namesKnownAt(place).map((name) => pathOf([...place, name])),
    );
    expect([...new Set(known)].toSorted()).toEqual(documentedPaths());
  });

  it("names the required settings: a configuration without one is refused, all others can be omitted", () => {
    expect(faultLines(parseConfig(needed))).toEqual([]);
    for (const row of rows) {
      const given = placesOf(row).filter((place) => valueAt(needed, place) !== undefined);
      expect([row.path, given.length > 0 || row.leftOut !== null]).toEqual([row.path, true]);
      for (const place of given) {
        const { kind } = parseConfig(withAt(needed, place, undefined));
        expect([place, kind]).toEqual([place, mustBeGiven(row) ? "faulty" : "ok"]);
      }
    }
  });

  it("has the defaults that sandwatch takes: written down they change nothing", () => {
    const loaded = parseConfig(needed);
    const defaults = rows.flatMap((row) =>
      row.leftOut && "value" in row.leftOut ? [{ row, value: row.leftOut.value }] : [],
    );
    expect(defaults.length).toBeGreaterThan(50);
    for (const { row, value } of defaults) {
      const free = placesOf(row).filter((place) => valueAt(needed, place) === undefined);
      for (const place of free) {
        expect([place, parseConfig(withAt(needed, place, value))]).toEqual([place, loaded]);
      }
    }
  });
});

function mustBeGiven({ path, leftOut }: SettingRow): boolean {
  // There is a rule on probes.
  if (path === "probes") return true;
  return leftOut === null || ("words" in leftOut && leftOut.words.startsWith("required "));
}
