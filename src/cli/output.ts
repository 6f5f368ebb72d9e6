import { printable, renderTable } from "./table.ts";
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
  for (const note of notes) terminal.err(`note: ${printable(note)}\n`);
}

export function listText<Item>(
  items: readonly Item[],
  nothing: string,
  next: string | null,
  columns: Columns<Item>,
): string {
  if (items.length === 0) return `${nothing}\n`;
  const more = next === null ? "" : `There is more: add --before ${next}\n`;
  return renderTable(items, columns) + more;
}

export function jsonText(value: unknown): string {
  return `${escapeControls(JSON.stringify(value, null, 2))}\n`;
}

/** Escapes characters of JSON text that would move a cursor or reverse the writing direction. */
export function escapeControls(json: string): string {
  return json.replaceAll(/[\x7f-\x9f\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    character.replaceAll(/[^]/g, unicodeEscape),
  );
}

function unicodeEscape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Lines that contain text from outside. */
export function linesText(lines: readonly string[]): string {
  return lines.map((line) => `${printable(line)}\n`).join("");
}
