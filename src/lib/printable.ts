/**
 * Text from outside must not control a terminal: move its cursor, reverse the writing direction, hide characters or fake
 * a line. Such characters are escaped as `\u{202e}`.
 */

/** Control and format characters, and separators of lines and paragraphs. */
const obeyed = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Line ends, as commands write them, are kept. */
const obeyedWithinLines = /(?!\n|\r\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** What commands print for bold, red, green, yellow and their ends. */
const paint = new Set([1, 22, 31, 32, 33, 39].map((code) => `\u001b[${code}m`));
const paintOrObeyed = /\p{Cc}\[\d+m|(?!\n|\r\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Most log lines: looking for the others in them takes ten times as long. */
const isPlain = /^[\n\x20-\x7e]*$/;

/** A value as a part of one line. */
export function printableLine(text: string): string {
  return text.replaceAll(obeyed, escapeCharacter);
}

/** Lines with values in them. */
export function printableLines(text: string): string {
  return text.replaceAll(obeyedWithinLines, escapeCharacter);
}

/** Lines in colour with values in them. */
export function printablePainted(text: string): string {
  return text.replaceAll(paintOrObeyed, (match) =>
    paint.has(match) ? match : printableLines(match),
  );
}

/** JSON text that means the same. */
export function printableJson(json: string): string {
  if (isPlain.test(json)) return json;
  return json.replaceAll(obeyedWithinLines, (character) =>
    character.replaceAll(/[^]/g, (unit) => `\\u${hexOf(unit).padStart(4, "0")}`),
  );
}

function escapeCharacter(character: string): string {
  return `\\u{${hexOf(character)}}`;
}

/** Of its first code unit or, if it is a whole character, of that. */
function hexOf(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16);
}
