import { execFile } from "node:child_process";
import { once } from "node:events";
import { createWriteStream, writeFileSync } from "node:fs";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { promisify } from "node:util";
import { acknowledgeIncident } from "../../src/api/operations/acknowledgements.ts";
import { listIncidents } from "../../src/api/operations/incidents.ts";
import { listServers } from "../../src/api/operations/targets.ts";
import { addSilence } from "../../src/api/operations/silences.ts";
import { makeHistory } from "../../src/cli/demo-history.ts";
import { report } from "../../src/cli/report.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { openStore } from "../../src/store/store.ts";
import { createWorld, variedManners } from "../../src/simulator/world.ts";
import { startReceiverServer, status } from "../notify/support/receiver-server.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { testConfig } from "../support/test-config.ts";
import { watchWorld, type WatchedWorld } from "../support/watched-world.ts";
import { freePort } from "../e2e/support/peer-process.ts";

const run = promisify(execFile);
const minuteMs = 60_000;
const dayMs = 1_440 * minuteMs;

/** How often Prometheus would have scraped. */
export const scrapeSeconds = 120;

const regions = ["us", "eu"];
const keys = ["research", "training"];
const servers = 10;
/** Of history before that day. */
const days = 15;

/** What Prometheus adds to what it scrapes. */
const added = 'instance="sandwatch:9740",job="sandwatch"';

/**
 * A day of the daemon, on a clock of the test's, after days that the demo would have made: what is
 * scraped on that day and a backfill of the days before, as blocks of Prometheus in `data` of the folder.
 *
 * @param endMs when the day ends
 */
export async function simulateDay(folder: string, endMs: number): Promise<void> {
  const beginMs = endMs - dayMs;
  const world = await openWorld(beginMs);
  const file = join(folder, "day.txt");
  const out = createWriteStream(file);
  const write = (line: string): void => void out.write(`${line}\n`);
  for (const kind of ["servers", "sandboxes"] as const) {
    for (const line of (await exportHistory(world, kind)).split("\n")) {
      // Both have the unobserved time of targets.
      if (kind === "servers" || line.startsWith("sandbox_status")) writeSample(line);
    }
  }
  function writeSample(line: string, atMs?: number): void {
    const [, name, labels, value, time] = /^(\w+)(?:\{(.*)\})? (\S+)(?: (\S+))?$/.exec(line) ?? [];
    if (name === undefined) return;
    const all = labels ? `${labels},${added}` : added;
    write(`${name}{${all}} ${value} ${atMs === undefined ? time : atMs / 1_000}`);
  }

  for (let minute = 1; minute <= 1_440; minute += 1) {
    await live(world, minute);
    await world.daemon().runOnce();
    world.clock.advance(minuteMs);
    if (minute % (scrapeSeconds / 60) > 0) continue;
    const startedMs = performance.now();
    const lines = (await world.metrics()).split("\n");
    const samples = {
      // The machine's clock is another one.
      process_start_time_seconds: beginMs / 1_000,
      up: 1,
      scrape_duration_seconds: (performance.now() - startedMs) / 1_000,
      scrape_samples_scraped: lines.filter((line) => /^\w/.test(line)).length,
    };
    const own = Object.entries(samples).map(([name, value]) => `${name} ${value}`);
    for (const line of [...lines.filter((each) => !each.startsWith("process_start")), ...own])
      writeSample(line, world.clock.now().utcMs);
    if (out.writableNeedDrain) await once(out, "drain");
  }
  out.end("# EOF\n");
  await finished(out);
  await createBlocks(file, folder);
}

/** Puts samples where a Prometheus with that folder finds them. It reads the file once for each block, so blocks are long. */
export async function createBlocks(file: string, folder: string): Promise<void> {
  const args = ["create-blocks-from", "openmetrics", "--max-block-duration=720h"];
  await run("promtool", ["tsdb", ...args, file, join(folder, "data")]);
}

async function openWorld(beginMs: number): Promise<WatchedWorld> {
  const [taking, refusing] = [await startReceiverServer(), await startReceiverServer(status(400))];
  const urls = { oncall: taking.origin, audit: refusing.origin };
  const away = `http://127.0.0.1:${await freePort()}`;
  let isFirst = true;
  return watchWorld({
    startsAtMs: beginMs,
    regions,
    keys,
    servers,
    pace: 1,
    manners: variedManners,
    every: "1m",
    probes: [
      { name: "login", operation: "user", id: "user-1", every: "5m", keys: ["research"] },
      { name: "worlds", operation: "universes", every: "5m", keys: ["research"] },
    ],
    alerts: {
      receivers: Object.entries({ ...urls, away }).map(([name, url]) => ({
        name,
        type: "webhook",
        url,
      })),
      maintenance: [
        { name: "nightly", start: "0 2 * * *", duration: "1h", match: { region: "eu" } },
        { name: "update", start: "0 */6 * * *", duration: "30m", match: { key: "training" } },
      ],
    },
    async openStore(path, observers) {
      if (isFirst) {
        isFirst = false;
        await fill(path, beginMs);
      }
      return openStore(path, undefined, { ...observers, isTemporary: true });
    },
  });
}

/** The days before, as the demo has them. */
async function fill(path: string, beginMs: number): Promise<void> {
  const config = testConfig({
    regions: Object.fromEntries(regions.map((name) => [name, { base_url: "http://127.0.0.1:9" }])),
    keys: keys.map((name) => ({ name, api_key: `unused-${name}` })),
    store: { path },
  });
  const world = createWorld(3, 1, undefined, variedManners);
  const { signal } = new AbortController();
  await makeHistory({ config, seed: 3, world, servers, days }, signal, createFakeClock(beginMs));
}

async function exportHistory(world: WatchedWorld, of: "servers" | "sandboxes"): Promise<string> {
  const config = join(tempFolder(), "sandwatch.yaml");
  const { store } = world.config;
  writeFileSync(
    config,
    JSON.stringify({
      regions: { us: { base_url: "http://127.0.0.1:9" } },
      keys: [{ name: "research", api_key: "unused" }],
      store: { path: store.path },
    }),
  );
  let text = "";
  const terminal = {
    out: (more: string) => void (text += more),
    err: (more: string) => {
      throw new Error(more);
    },
    isInteractive: false,
  };
  const options = {
    config,
    from: `${days}d`,
    of,
    format: "openmetrics",
    resolution: "1h",
  } as const;
  await report(options, terminal, world.clock);
  return text;
}

/**
 * What happens beside what the simulated service does by itself, each at a minute of the day. No call may be sent again
 * after a failure: that would wait for a clock that stands still.
 */
async function live(world: WatchedWorld, minute: number): Promise<void> {
  const { api } = world.daemon();
  const author = "ann";
  if (minute === 200) world.fail({ kind: "malformed", region: "eu" });
  if (minute === 245) world.fail();
  if (minute === 900) await world.restart();
  if (minute === 1_200)
    world.fail({ kind: "status", status: 429, retry_after: 60, key: "training" });
  if (minute === 1_203) world.fail();
  if (minute === 1_260) world.fail({ kind: "odd", kinds: ["wrong_types", "unknown_field"] });
  if (minute === 1_262) world.fail();
  if (minute === 1_270) {
    const { servers: idle } = await api(listServers, {
      region: "us",
      key: "research",
      status: "idle",
    });
    const ids = idle.slice(0, 3).map(({ server_id: id }) => id ?? "");
    for (const id of ids) world.show(id, "error");
    await api(addSilence, {
      match: { server_id: ids[0] ?? "" },
      author,
      reason: "it is being moved",
      duration: "12h",
    });
    const starts_at = new Date(world.clock.now().utcMs + dayMs).toISOString();
    await api(addSilence, {
      match: { region: "eu" },
      author,
      reason: "a planned upgrade",
      starts_at,
      duration: "1h",
    });
  }
  if (minute === 1_300) {
    const { incidents } = await api(listIncidents, { state: "firing" });
    const id = incidents.find(({ muted }) => !muted)?.id ?? "";
    await api(acknowledgeIncident, { id, author });
  }
  if (minute === 1_410) world.fail({ kind: "malformed", region: "eu", key: "training" });
  if (minute === 1_430) world.fail();
}
