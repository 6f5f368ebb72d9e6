import { readFileSync } from "node:fs";

/** The default soft limit on Linux. */
const usualLimit = 1_024;

/** What Node.js and the store use themselves: measured 32, whatever is watched. */
const ownDescriptors = 32;

/** How many connections this process may have open at once, to whomever. */
export function connectionsLimit(openFiles = openFilesLimit()): number {
  return Math.max(0, openFiles - ownDescriptors);
}

/**
 * How many files and connections this process may have open at once. Node.js has raised it to the hard limit when it
 * started. Where it cannot be read (only Linux has the file), the usual limit of a process is assumed.
 */
export function openFilesLimit(limitsFile = "/proc/self/limits"): number {
  try {
    const [, limit] =
      /^Max open files +(\d+|unlimited)/m.exec(readFileSync(limitsFile, "utf8")) ?? [];
    if (limit === "unlimited") return Number.POSITIVE_INFINITY;
    return limit === undefined ? usualLimit : Number(limit);
  } catch {
    return usualLimit;
  }
}
