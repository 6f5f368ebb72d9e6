import { readFileSync } from "node:fs";

/** Linux counts in these. */
const ticksPerSecond = 100;

/** CPU of a process, of those that it started, and of those of them that have ended. Milliseconds */
export function cpuOfTreeMs(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")
    .split(" ")
    .filter(Boolean)
    .map(Number);
  return [ticksOf(pid, true), ...children.map((child) => ticksOf(child, false))].reduce(
    (sum, ticks) => sum + (ticks / ticksPerSecond) * 1_000,
    0,
  );
}

function ticksOf(pid: number, withEnded: boolean): number {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name before it may have blanks.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return fields.slice(11, withEnded ? 15 : 13).reduce((sum, field) => sum + Number(field), 0);
  } catch {
    // It has ended since.
    return 0;
  }
}
