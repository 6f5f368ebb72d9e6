import { execFile } from "node:child_process";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";

/** What was done, and what failed that should not. */
export interface Done {
  readonly counts: Record<string, number>;
  readonly faults: string[];
}

export interface LoadOptions {
  readonly origin: string;
  readonly random: () => number;
  readonly done: Done;
  /** Makes a backup. */
  readonly backup: readonly string[];
  /** Applies a changed configuration; null: none is applied. */
  readonly reload: (() => Promise<void>) | null;
}

const pages = [
  "/",
  "/?region=us",
  "/servers",
  "/servers?status=error",
  "/occupancy",
  "/report",
  "/report?region=us",
  "/incidents",
  "/incidents?rule=server-error",
];
const calls = [
  "/api/v1/targets",
  "/api/v1/servers?limit=50",
  "/api/v1/incidents?state=firing",
  "/api/v1/changes?limit=100",
  "/api/v1/notifications?limit=20",
  "/api/v1/occupancy?from=2h",
  "/api/v1/insights",
  "/api/v1/probes",
  "/api/v1/drift",
  "/api/v1/silences",
];

/** Everything at once, as users, scrapers and operators do it, until the signal aborts and all of it has ended. */
export async function putLoad(options: LoadOptions, signal: AbortSignal): Promise<void> {
  const { origin, random, done, backup, reload } = options;
  const count = (what: string): void => {
    done.counts[what] = (done.counts[what] ?? 0) + 1;
  };
  const pick = (paths: readonly string[]): string =>
    `${origin}${paths[Math.floor(random() * paths.length)]}`;

  /** A reload ends connections and refuses them for a moment; nothing else may. */
  const ask = async (what: string, url: string, init: RequestInit = {}): Promise<void> => {
    try {
      const response = await fetch(url, { ...init, signal });
      await response.arrayBuffer();
      count(what);
      if (!response.ok) done.faults.push(`${url}: HTTP ${response.status}`);
    } catch {
      if (!signal.aborted) count("requests without an answer");
    }
  };
  const stream = async (): Promise<void> => {
    const ended = AbortSignal.any([
      signal,
      AbortSignal.timeout(Math.round(200 + random() * 8_000)),
    ]);
    try {
      const { body } = await fetch(`${origin}/api/v1/events`, { signal: ended });
      count("event streams");
      // A reload may end it.
      for await (const _ of body ?? []);
    } catch {
      // That is how it ends.
    }
  };
  const act = async (): Promise<void> => {
    const post = { method: "POST", headers: { "content-type": "application/json" } };
    const target = { region: "us", key: "research" };
    await ask("polls asked for", `${origin}/api/v1/targets/poll`, {
      ...post,
      body: JSON.stringify(target),
    });
    const silence = {
      match: { server_name: "nobody" },
      force: true,
      duration: "1m",
      reason: "soak",
      author: "soak",
    };
    await ask("silences", `${origin}/api/v1/silences`, { ...post, body: JSON.stringify(silence) });
  };
  const runBackup = async (): Promise<void> => {
    try {
      await promisify(execFile)(process.execPath, [...backup]);
      count("backups");
    } catch (error) {
      done.faults.push(`backup: ${String(error)}`);
    }
  };
  /** Again and again, at random between half and one and a half of this time. Milliseconds. */
  const repeat = async (everyMs: number, work: () => Promise<void>): Promise<void> => {
    while (!signal.aborted) {
      await setTimeout(everyMs * (0.5 + random()), null, { signal }).catch(() => null);
      if (!signal.aborted) await work();
    }
  };
  await Promise.all([
    repeat(400, () => ask("pages", pick(pages))),
    repeat(400, () => ask("API calls", pick(calls))),
    repeat(2_000, () => ask("scrapes", `${origin}/metrics`)),
    repeat(200, stream),
    repeat(200, stream),
    repeat(500, stream),
    repeat(3_000, act),
    repeat(20_000, runBackup),
    ...(reload ? [repeat(8_000, reload)] : []),
  ]);
}
