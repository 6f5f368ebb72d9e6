/** A name comes from the service and can be anything: what is made of it stays one readable line. */
export const longestName = 60;

/** Whether nothing of a text can be read: it is missing, or holds only spaces and control characters. */
export function isBlank(text: string | null): boolean {
  return text === null || readable(text, longestName).trim() === "";
}

/** The text as one line without control characters, cut where it is longer than that. */
export function readable(text: string, longest: number): string {
  const start = text.slice(0, longest + 1).replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, " ");
  // A cut may have left half a character at the end.
  return start.length > longest ? `${start.slice(0, longest).replace(/\p{Cs}$/u, "")}…` : start;
}
