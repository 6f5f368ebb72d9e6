import { asJson, listOf, namesOf } from "./config-schema.ts";
import type { Json } from "./config-schema.ts";

/** One setting, as documents describe it. */
export interface SettingRow {
  /** As faults write it, with `<name>` for any name and `[]` for any place in a list. */
  readonly path: string;
  /** The kinds of rules or receivers that have it; none: all of them, or there are no kinds. */
  readonly kinds: readonly string[];
  readonly allowed: string;
  /** The default, as it is written or in words; null: the setting is required. */
  readonly defaultText: { readonly value: unknown } | { readonly words: string } | null;
  readonly description: string;
}

/** A row for each setting in a part of the schema, in its order. */
export function settingRows(schema: Json, path = "", kinds: readonly string[] = []): SettingRow[] {
  const ofKinds = listOf(schema["allOf"])
    .map(asJson)
    .filter((part) => part["then"] !== undefined);
  if (ofKinds.length > 0) {
    const rows = ofKinds.flatMap((part) => settingRows(asJson(part["then"]), path, [kindOf(part)]));
    return merged(rows, ofKinds.length);
  }
  const mappingsIn = (part: unknown, at: string): readonly SettingRow[] =>
    asJson(part)["type"] === "object" ? settingRows(asJson(part), at, kinds) : [];
  const required = namesOf(schema["required"]);
  const properties = Object.entries(asJson(schema["properties"]));
  return [
    ...properties.flatMap(([name, each]) => {
      const at = path === "" ? name : `${path}.${name}`;
      const setting = asJson(each);
      return [rowOf(setting, at, kinds, required), ...settingRows(setting, at, kinds)];
    }),
    ...mappingsIn(schema["additionalProperties"], `${path}.<name>`),
    ...mappingsIn(schema["items"], `${path}[]`),
    ...listOf(schema["anyOf"]).flatMap((part) => mappingsIn(part, path)),
  ];
}

function kindOf(part: Json): string {
  const tags = Object.values(asJson(asJson(part["if"])["properties"]));
  return String(asJson(tags[0])["const"]);
}

/** One row for what several kinds have alike. */
function merged(rows: readonly SettingRow[], kindCount: number): SettingRow[] {
  const byPath = Map.groupBy(rows, ({ path }) => path);
  return [...byPath.values()].flatMap((samePath) => {
    const alike = Map.groupBy(samePath, (row) => JSON.stringify({ ...row, kinds: [] }));
    return [...alike.values()].flatMap((group) => {
      const [first] = group;
      const kinds = group.flatMap((row) => row.kinds);
      return first ? [{ ...first, kinds: kinds.length === kindCount ? [] : kinds }] : [];
    });
  });
}

function rowOf(
  setting: Json,
  path: string,
  kinds: readonly string[],
  required: readonly string[],
): SettingRow {
  const isRequired = required.includes(path.slice(path.lastIndexOf(".") + 1));
  const { description } = setting;
  if (typeof description !== "string") throw new Error(`${path} has no description`);
  return {
    path,
    kinds,
    allowed: allowedIn(setting),
    defaultText: isRequired ? null : defaultOf(setting, path),
    description,
  };
}

function defaultOf(setting: Json, path: string): SettingRow["defaultText"] {
  if ("defaultText" in setting) return { words: String(setting["defaultText"]) };
  if ("default" in setting) return { value: setting["default"] };
  throw new Error(
    `${path} has no default, and does not say in words what holds without it (defaultText)`,
  );
}

function allowedIn(setting: Json): string {
  if (typeof setting["errorMessage"] === "string") return setting["errorMessage"];
  if ("const" in setting) return String(setting["const"]);
  if (setting["type"] !== "array") return "a mapping";
  const item = asJson(setting["items"]);
  return item["type"] === "object" ? "a list of mappings" : `a list; each: ${allowedIn(item)}`;
}
