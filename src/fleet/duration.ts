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
