import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { describedSettings } from "../../generate/config-schema.ts";
import { settingRows } from "../../generate/settings-rows.ts";
import type { SettingRow } from "../../generate/settings-rows.ts";
import { valueAt, type Path } from "../../src/config/faults.ts";
import { parseConfig } from "../../src/config/load-config.ts";
import { everyKind as needed, faultLines, withAt } from "./support.ts";

const rows = settingRows(describedSettings());

/** Where a row's setting stands, or would, of each kind that has it. */
function placesOf({ path, kinds }: SettingRow): readonly Path[] {
  const parts = path.replaceAll("[]", ".[]").split(".");
  const places = parts.reduce<readonly Path[]>(
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

function kindAt(place: Path): string {
  const item = place.slice(0, 3);
  return String(valueAt(needed, [...item, "on"]) ?? valueAt(needed, [...item, "type"]));
}

function documentedPaths(): readonly string[] {
  const document = readFileSync(join(import.meta.dirname, "../../docs/configuration.md"), "utf8");
  const rowsOfDocument = document.matchAll(/^\| `([\w.<>[\]]+)` /gm);
  return [...new Set(Array.from(rowsOfDocument, ([, path = ""]) => path))].toSorted();
}

function pathOf(place: Path): string {
  const parts = place.map((part, at) =>
    typeof part === "number" ? "[]" : at === 1 && place[0] === "regions" ? "<name>" : part,
  );
  return parts.join(".").replaceAll(".[]", "[]");
}

/** An unknown setting is answered with those that are known in its place. */
function namesKnownAt(place: Path): readonly string[] {
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
      expect([row.path, given.length > 0 || row.defaultText !== null]).toEqual([row.path, true]);
      for (const place of given) {
        const { kind } = parseConfig(withAt(needed, place, undefined));
        expect([place, kind]).toEqual([place, mustBeGiven(row) ? "faulty" : "ok"]);
      }
    }
  });

  it("has the defaults that sandwatch takes: written down they change nothing", () => {
    const loaded = parseConfig(needed);
    const defaults = rows.flatMap((row) =>
      row.defaultText && "value" in row.defaultText ? [{ row, value: row.defaultText.value }] : [],
    );
    expect(defaults.length).toBeGreaterThan(50);
    const written = defaults
      .flatMap(({ row, value }) => placesOf(row).map((place) => ({ place, value })))
      .filter(({ place }) => valueAt(needed, place) === undefined)
      .reduce<unknown>((config, { place, value }) => withAt(config, place, value), needed);
    expect(parseConfig(written)).toEqual(loaded);
  });
});

function mustBeGiven({ path, defaultText }: SettingRow): boolean {
  // There is a rule on probes, a report for a receiver, and a cluster.
  if (["probes", "alerts", "alerts.receivers", "store", "store.postgres"].includes(path))
    return true;
  return (
    defaultText === null || ("words" in defaultText && defaultText.words.startsWith("required "))
  );
}
