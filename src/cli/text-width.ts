/** Drawn over two columns of a terminal: East Asian wide and full-width characters, and emoji. */
const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{1b2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;

/** Drawn over the character before it. */
const combining = /[\p{Mn}\p{Me}]/u;

/** How many columns of a terminal a text takes. */
export function textWidth(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += characterWidth(character);
  return width;
}

/** The text, or as much of it as fits with a mark that there is more. */
export function cutToWidth(text: string, columns: number = Number.POSITIVE_INFINITY): string {
  if (text.length <= columns && textWidth(text) <= columns) return text;
  // However little it takes up: what is drawn over one character can be any number of them.
  const mostCharacters = columns * 4;
  let width = 0;
  let characters = 0;
  let kept = "";
  let cut = "";
  for (const character of text) {
    width += characterWidth(character);
    characters += 1;
    if (width <= columns - 1) cut = kept + character;
    kept += character;
    if (width > columns || characters > mostCharacters) return `${cut}…`;
  }
  return kept;
}

function characterWidth(character: string): number {
  if (combining.test(character)) return 0;
  return wide.test(character) ? 2 : 1;
}
