const unitBytes = new Map([
  ["", 1],
  ["B", 1],
  ["kB", 1e3],
  ["KB", 1e3],
  ["MB", 1e6],
  ["GB", 1e9],
  ["KiB", 2 ** 10],
  ["MiB", 2 ** 20],
  ["GiB", 2 ** 30],
]);

/** What `parseSize` reads, but for numbers that are too large. */
export const sizePattern = /^(\d+)(B|[kKMG]B|[KMG]iB)?$/;

/**
 * Reads `64MiB`, `10MB`, `512KiB` and plain bytes.
 *
 * @returns bytes, or undefined when it is no size
 */
export function parseSize(text: string): number | undefined {
  const match = sizePattern.exec(text);
  const unit = unitBytes.get(match?.[2] ?? "");
  if (!match || unit === undefined) return undefined;
  const bytes = Number(match[1]) * unit;
  return Number.isSafeInteger(bytes) ? bytes : undefined;
}
