/** The service chooses names, so they are shown as one line of at most this many characters. */
export const longestName = 60;

/** What notifies people in Slack, Discord, Mattermost, Teams, Google Chat, Matrix and Zulip. */
const mentions = /@(?=(?:everyone|here|channel|all|room)\b|_?\*\*)|<(?=[!@#]|at\b|users\/)/gi;

/**
 * A name for a message to people: one short line. A mention in it is shown, with a full-width `＠` or a `‹` in it, and
 * notifies nobody.
 */
export function shownName(text: string): string {
  return withoutMentions(readable(text, longestName));
}

export function withoutMentions(text: string): string {
  return text.replace(mentions, (sign) => (sign === "@" ? "＠" : "‹"));
}

/** Whether a text is missing or holds only spaces and control characters. */
export function isBlank(text: string | null): boolean {
  return text === null || readable(text, longestName).trim() === "";
}

/** The text as one line without control characters, cut at `longest` characters. */
export function readable(text: string, longest: number): string {
  const start = text.slice(0, longest + 1).replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, " ");
  // A cut may have left half a character at the end.
  return start.length > longest ? `${start.slice(0, longest).replace(/\p{Cs}$/u, "")}…` : start;
}

const uuid = /\b([\da-f]{8})(?:-[\da-f]{4}){3}-[\da-f]{12}\b/gi;

/** Enough of each UUID to find it. Other ids may all begin alike. */
export function withShortIds(text: string): string {
  return text.replaceAll(uuid, "$1");
}
