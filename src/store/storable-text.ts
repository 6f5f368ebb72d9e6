/**
 * A text from outside as every database can keep it: the NUL character and halves of surrogate pairs are replaced by
 * how JSON writes them.
 */
export function storableText<Text extends string | null>(text: Text): Text | string {
  return text?.replaceAll(unstorable, escape) ?? text;
}

// With the flag `u` a surrogate is matched only where it is not one of a pair.
const unstorable = /[\0\p{Surrogate}]/gu;

function escape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
