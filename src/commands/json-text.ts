/**
 * For programs, and harmless where a person looks: what would move a cursor or turn the writing
 * round is written as JSON writes it in any text.
 */
export function jsonText(value: unknown): string {
  return `${harmless(JSON.stringify(value, null, 2))}\n`;
}

/** The same on one line. */
export function jsonLine(value: unknown): string {
  return `${harmless(JSON.stringify(value))}\n`;
}

/** The same of what is JSON already, or a part of some. */
export function harmless(json: string): string {
  return json.replaceAll(/[\x7f-\x9f\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    character.replaceAll(/[^]/g, unicodeEscape),
  );
}

function unicodeEscape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
