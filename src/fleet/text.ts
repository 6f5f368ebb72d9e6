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

const english = new Intl.NumberFormat("en");

/** Such as `1,800`. */
export function countText(count: number): string {
  return english.format(count);
}

/** Such as `1 region` and `1,800 servers`. */
export function counted(count: number, noun: string, nouns = `${noun}s`): string {
  return `${countText(count)} ${count === 1 ? noun : nouns}`;
}

/** Such as `a, b, c and 2 more`. */
export function namesText(names: readonly string[], most: number): string {
  const more = names.length - most;
  return names.slice(0, most).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/** A text names this many different values, and counts the others. */
export const mostNamed = 3;

/** Such as `github, slack, jira and 4 more`, of names that the service chose. */
export function someOf(values: readonly string[]): string {
  const different = [...new Set(values)];
  const named = different.slice(0, mostNamed).map((value) => shownName(value));
  const more = different.length - named.length;
  return more > 0 ? `${named.join(", ")} and ${more} more` : named.join(", ");
}

const parts = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
  ["ms", 1],
] as const;

/** What `parseDuration` reads, but for numbers that are too large. */
export const durationPattern = /^(?=\d)(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?$/;

/**
 * Reads `500ms`, `10s`, `5m`, `4h`, `7d` and combinations with the larger unit first (`1h30m`).
 *
 * @returns milliseconds, or undefined when it is no duration
 */
export function parseDuration(text: string): number | undefined {
  const match = durationPattern.exec(text);
  if (!match) return undefined;
  const ms = parts.reduce((sum, [, unitMs], index) => {
    return sum + Number(match[index + 1] ?? 0) * unitMs;
  }, 0);
  return Number.isSafeInteger(ms) ? ms : undefined;
}

/** The shortest text that `parseDuration` reads as the same number of milliseconds. */
export function formatDuration(ms: number): string {
  let restMs = ms;
  let text = "";
  for (const [unit, unitMs] of parts) {
    const count = Math.floor(restMs / unitMs);
    if (count > 0) text += `${count}${unit}`;
    restMs -= count * unitMs;
  }
  return text === "" ? "0s" : text;
}

const uuid = /\b([\da-f]{8})(?:-[\da-f]{4}){3}-[\da-f]{12}\b/gi;

/** Enough of each UUID to find it. Other ids may all begin alike. */
export function withShortIds(text: string): string {
  return text.replaceAll(uuid, "$1");
}
