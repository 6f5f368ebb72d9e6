import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import type { Reading } from "../support/daemon.ts";
import { total } from "../support/scrape.ts";

export interface Point {
  readonly name: string;
  /** With nobody connected, after a garbage collection. */
  readonly quiet: Reading;
  /** At the end of the load before it. */
  readonly loaded: Reading;
  /** The most that was resident under that load. */
  readonly peakBytes: number;
  readonly descriptors: number;
  readonly threads: number;
  readonly storeBytes: number;
  readonly pending: number;
  readonly dead: number;
  readonly lostPolls: number;
}

export async function measureProcess(pid: number, metricsUrl: string, store: string) {
  const [, threads] = /^Threads:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
  const files = [store, `${store}-wal`].filter((file) => existsSync(file));
  return {
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    threads: Number(threads),
    storeBytes: files.reduce((sum, file) => sum + statSync(file).size, 0),
    pending: await total(metricsUrl, "sandwatch_notifications_pending"),
    dead: await total(metricsUrl, "sandwatch_notifications_dead"),
    lostPolls: await total(metricsUrl, "sandwatch_store_commit_failures_total"),
  };
}

const mebibytes = (bytes: number): number => Math.round((bytes / 2 ** 20) * 10) / 10;

/** Without timers: their number depends on the moment. */
function handlesOf({ kept }: Reading): number {
  const isTimer = (kind: string): boolean => kind === "Timeout" || kind === "Immediate";
  const counts = Object.entries(kept?.handles ?? {});
  return counts.reduce((sum, [kind, count]) => sum + (isTimer(kind) ? 0 : count), 0);
}

interface Row {
  readonly what: string;
  readonly of: (point: Point) => number;
  /** The most that the end may have, where it is judged. */
  readonly most?: (start: number) => number;
}

const none = (): number => 0;

/** @param connections how many it may keep open between two calls: one for each target, probe and receiver */
function rowsFor(connections: number): readonly Row[] {
  return [
    {
      what: "heap after a collection, MiB",
      of: ({ quiet }) => mebibytes(quiet.kept?.heapBytes ?? Number.NaN),
      // What grows with what was seen: compiled code, caches with a bound, the history that SQLite keeps in memory.
      most: (start) => start * 1.1 + 3,
    },
    {
      what: "buffers outside of it, MiB",
      of: ({ quiet }) => mebibytes(quiet.kept?.externalBytes ?? Number.NaN),
      most: (start) => start + 4,
    },
    {
      what: "resident memory after it, MiB",
      of: ({ quiet }) => mebibytes(quiet.residentBytes),
      // The allocator gives back late, and SQLite fills its cache of 16 MB.
      most: (start) => start * 1.15 + 20,
    },
    { what: "resident at most under load, MiB", of: ({ peakBytes }) => mebibytes(peakBytes) },
    {
      what: "handles",
      of: ({ quiet }) => handlesOf(quiet),
      most: (start) => start + connections,
    },
    {
      what: "timers",
      of: ({ quiet }) => quiet.kept?.handles["Timeout"] ?? 0,
      most: (start) => start + connections,
    },
    {
      what: "descriptors",
      of: ({ descriptors }) => descriptors,
      most: (start) => start + connections,
    },
    // libuv and V8 start theirs when they are first needed.
    { what: "threads", of: ({ threads }) => threads, most: (start) => start },
    { what: "store, MiB", of: ({ storeBytes }) => mebibytes(storeBytes) },
    { what: "notifications that wait", of: ({ pending }) => pending, most: none },
    { what: "dead letters", of: ({ dead }) => dead, most: none },
    { what: "polls that were not stored", of: ({ lostPolls }) => lostPolls, most: none },
    {
      what: "event-loop delay under load, p99, ms",
      of: ({ loaded }) => Math.round(loaded.delay.p99Ms),
    },
    { what: "longest, ms", of: ({ loaded }) => Math.round(loaded.delay.maxMs) },
  ];
}

/** @returns a table in Markdown, and what is more at the end than it may be */
export function compare(points: readonly Point[], connections: number) {
  const [start] = points;
  const end = points.at(-1);
  if (!start || !end) throw new Error("nothing was measured");
  const rows = rowsFor(connections).map(({ what, of, most }) => {
    const limit = most ? Math.round(most(of(start)) * 10) / 10 : null;
    return { what, values: points.map(of), limit, isOver: limit !== null && !(of(end) <= limit) };
  });
  const lines = [
    ["", ...points.map(({ name }) => name), "allowed at the end"],
    ["---", ...points.map(() => "---:"), "---:"],
    ...rows.map(({ what, values, limit }) => [what, ...values.map(String), String(limit ?? "")]),
  ];
  const widths = (lines[0] ?? []).map((_, at) =>
    Math.max(...lines.map((cells) => (cells[at] ?? "").length)),
  );
  const pad = (cell: string, at: number): string => cell.padEnd(widths[at] ?? 0);
  return {
    table: lines.map((cells) => `| ${cells.map(pad).join(" | ")} |\n`).join(""),
    excess: rows.flatMap(({ what, values, limit, isOver }) =>
      isOver ? `${what}: ${values.at(-1)} at the end, at most ${limit} is allowed` : [],
    ),
  };
}
