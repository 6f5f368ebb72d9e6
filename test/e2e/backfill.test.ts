import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { reportOccupancy } from "../../src/api/operations/occupancy.ts";
import { report } from "../../src/cli/report.ts";
import type { Resolution } from "../../src/fleet/buckets.ts";
import { statuses } from "../../src/fleet/model.ts";
import type { ReportedKind } from "../../src/reports/report-fields.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { watchWorld } from "../support/watched-world.ts";
import type { WatchedWorld } from "../support/watched-world.ts";
import { startPrometheus } from "./support/prometheus-server.ts";

const minuteMs = 60_000;

/** A day and a half, some of it unwatched. */
async function live(): Promise<WatchedWorld> {
  const world = await watchWorld({ servers: 6, every: "15m" });
  for (let turn = 0; turn < 150; turn += 1) {
    world.show(turn % 6, ["occupied", "idle", "error", "odd", "occupied"][turn % 5] ?? "idle");
    world.fail(...(turn % 29 === 7 ? [{ kind: "malformed" } as const] : []));
    if (turn % 50 === 49) await world.restart();
    world.clock.advance(15 * minuteMs);
    await world.poll();
  }
  return world;
}

async function exportHistory(
  world: WatchedWorld,
  of: ReportedKind,
  resolution: Resolution,
): Promise<string> {
  const config = join(tempFolder(), "sandwatch.yaml");
  writeFileSync(
    config,
    JSON.stringify({
      regions: { us: { base_url: "http://127.0.0.1:9" } },
      keys: [{ name: "research", api_key: "unused" }],
      store: { path: world.config.store.path },
    }),
  );
  let text = "";
  const terminal = {
    out: (more: string) => void (text += more),
    err: (more: string) => expect(more).toBe(""),
    isInteractive: false,
  };
  const options = { config, from: "2026-11-20", of, format: "openmetrics", resolution } as const;
  await report(options, terminal, world.clock);
  return text;
}

it.each([
  ["servers", "1h"],
  ["servers", "15m"],
  ["servers", "5m"],
  ["sandboxes", "1h"],
  ["sandboxes", "5m"],
] as const)(
  "history of %s at %s that is backfilled is what a real Prometheus shows, as the report does",
  async (of, resolution) => {
    const world = await live();
    const text = await exportHistory(world, of, resolution);
    const folder = tempFolder();
    const file = join(folder, "history.om");
    writeFileSync(file, text);
    const data = join(folder, "data");
    mkdirSync(data);
    execFileSync("promtool", ["tsdb", "create-blocks-from", "openmetrics", file, data], {
      stdio: "pipe",
    });
    const prometheus = await startPrometheus({}, {}, folder);

    const from = Date.parse("2026-11-20T12:00Z");
    const to = Date.parse("2026-11-21T18:00Z");
    const between = async (selector: string): Promise<ReadonlyMap<string, number>> => {
      const [begin, end] = [from / 1_000, to / 1_000];
      const grown = await prometheus.query(`${selector} @ ${end} - ${selector} @ ${begin}`);
      return new Map(
        grown.map(({ metric, value }) => [
          [metric["region"], metric["key"], metric["server_name"], metric["status"]].join("/"),
          value,
        ]),
      );
    };
    const { rows } = await world.daemon().api(reportOccupancy, {
      from: new Date(from).toISOString(),
      to: new Date(to).toISOString(),
      of,
      by: of === "servers" ? "region,key,server_name" : "region,key",
    });
    expect(rows.length).toBeGreaterThan(of === "servers" ? 3 : 0);
    const family =
      of === "servers" ? "sandbox_server_status_seconds_total" : "sandbox_status_seconds_total";
    const seconds = await between(family);
    expect(seconds.size).toBe(rows.length * statuses.length);
    for (const row of rows) {
      const place = `${row.region}/${row.key}/${row.server_name ?? ""}`;
      for (const status of statuses) {
        const reported = row[`${status}_seconds`];
        expect([place, status, seconds.get(`${place}/${status}`)]).toEqual([
          place,
          status,
          expect.closeTo(reported, 6),
        ]);
      }
    }
    expect(rows.some(({ occupied_seconds: occupied }) => occupied > 0)).toBe(true);
    const unobserved = await between("sandbox_unobserved_seconds_total");
    const shares = rows.map((row) => row.unobserved_seconds / (row.server_seconds || 1));
    const range = (to - from) / 1_000;
    expect(unobserved.get("us/research//")).toBeCloseTo(Math.max(...shares) * range, 3);

    // The rate is the number of servers in a status, as long as it was watched.
    const busy = await prometheus.query(`sum (rate(${family}[6h] @ ${to / 1_000})) + 0`);
    const average = rows.reduce((sum, { servers_average: some }) => sum + (some ?? 0), 0);
    expect(busy[0]?.value).toBeGreaterThan(average / 2);
    expect(busy[0]?.value).toBeLessThanOrEqual(average + 0.001);
  },
);
