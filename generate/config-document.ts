import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describedSettings } from "./config-schema.ts";
import { settingRows } from "./settings-rows.ts";
import type { SettingRow } from "./settings-rows.ts";
import { markdownTable } from "./markdown-table.ts";

const file = join(import.meta.dirname, "../docs/configuration.md");

/** The places of tables, each of the settings below one; the rest of the document is written by hand. */
const places = /(<!-- settings below (\S+) -->\n)[\s\S]*?(\n<!-- end of settings -->)/g;

/** The document with each table of settings generated again; each setting is in the table of its longest matching path. */
export function configDocument(): string {
  const document = readFileSync(file, "utf8");
  const tables = Array.from(document.matchAll(places), ([, , path = ""]) => path);
  const rows = settingRows(describedSettings());
  const lost = rows.find((row) => tableOf(row, tables) === undefined);
  if (lost) throw new Error(`docs/configuration.md has no table for ${lost.path}`);
  return document.replace(places, (_, begin: string, path: string, end: string) => {
    const own = rows.filter((row) => tableOf(row, tables) === path);
    return `${begin}\n${settingsTable(own)}${end}`;
  });
}

function tableOf({ path }: SettingRow, tables: readonly string[]): string | undefined {
  return tables
    .filter(
      (table) => table === "/" || path.startsWith(`${table}.`) || path.startsWith(`${table}[`),
    )
    .toSorted((a, b) => b.length - a.length)[0];
}

function settingsTable(rows: readonly SettingRow[]): string {
  const haveKinds = rows.some(({ kinds }) => kinds.length > 0);
  const header = [
    "setting",
    ...(haveKinds ? ["applies to"] : []),
    "allowed",
    "default",
    "description",
  ];
  const cells = rows.map((row) => [
    `\`${row.path}\``,
    ...(haveKinds ? [row.kinds.join(", ")] : []),
    asProse(row.allowed),
    defaultCell(row),
    row.description,
  ]);
  return markdownTable([header, ...cells]);
}

function defaultCell({ defaultText }: SettingRow): string {
  if (defaultText === null) return "**required**";
  return "words" in defaultText ? defaultText.words : `\`${asWritten(defaultText.value)}\``;
}

/** As it would stand in the file. */
function asWritten(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(asWritten).join(", ")}]`;
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** What is no Markdown, so that it is shown as it is. */
function asProse(text: string): string {
  return text.replaceAll(/[*<]|(?<!\w)_|_(?!\w)/g, "\\$&");
}
