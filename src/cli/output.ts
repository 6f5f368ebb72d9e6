import { printableJson, printableLine } from "../lib/printable.ts";
import type { Look } from "./look.ts";
import { renderTable } from "./table.ts";
import type { Columns } from "./table.ts";
import type { Terminal } from "./terminal.ts";

/** Prints a response: as JSON for programs, or as text with its notes on standard error. */
export function show<View extends object>(
  view: View & { readonly notes?: readonly string[] },
  { json = false }: { readonly json?: boolean },
  terminal: Terminal,
  textOf: (view: View) => string,
): void {
  terminal.out(json ? jsonText(view) : textOf(view));
  if (!json) showNotes(view.notes ?? [], terminal);
}

export function showNotes(notes: readonly string[], terminal: Terminal): void {
  for (const note of notes) terminal.err(`note: ${printableLine(note)}\n`);
}

export function listText<Item>(
  items: readonly Item[],
  nothing: string,
  next: string | null,
  columns: Columns<Item>,
  look: Look,
  option = "--before",
): string {
  if (items.length === 0) return `${nothing}\n`;
  const more = next === null ? "" : `There is more: add ${option} ${next}\n`;
  return renderTable(items, columns, look) + more;
}

export function jsonText(value: unknown): string {
  return `${printableJson(JSON.stringify(value, null, 2))}\n`;
}

/** Lines that contain text from outside. */
export function linesText(lines: readonly string[]): string {
  return lines.map((line) => `${printableLine(line)}\n`).join("");
}
