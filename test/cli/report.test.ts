import { describe, expect, it } from "vitest";
import { runProgram } from "../../src/cli/program.ts";
import { report } from "../../src/cli/report.ts";
import type { ReportOptions } from "../../src/cli/report.ts";
import { writeConfig } from "../support/config-file.ts";
import { runCommand } from "../support/run-command.ts";
import { watchWorld } from "../support/watched-world.ts";
import type { WatchedWorld } from "../support/watched-world.ts";

const configOf = (world: WatchedWorld): string =>
  writeConfig({ store: { path: world.config.store.path } }).config;

async function reportOf(world: WatchedWorld, options: Partial<ReportOptions>): Promise<string> {
  let out = "";
  const terminal = { out: (text: string) => void (out += text), err() {}, isInteractive: false };
  await report({ from: "2026-11-20T09:30Z", ...options }, terminal, world.clock);
  return out;
}

describe("report", () => {
  it("is the same from a store beside its daemon, from the daemon, and from the store alone", async () => {
    const world = await watchWorld({ servers: 5 });
    world.show(0, "occupied");
    await world.poll(3);
    world.show(0, "idle");
    world.show(1, "absent");
    await world.poll(4);
    const config = configOf(world);
    const url = await world.address();
    for (const by of ["region,key", "hour", "server"]) {
      const beside = JSON.parse(await reportOf(world, { config, by, format: "json" }));
      expect(beside).toMatchObject({ tz: "UTC", notes: [] });
      expect(JSON.parse(await reportOf(world, { url, by, format: "json" }))).toEqual(beside);
    }
    const before = await reportOf(world, { config, by: "server", format: "csv" });
    await world.daemon().stop();
    expect(await reportOf(world, { config, by: "server", format: "csv" })).toBe(before);
    expect(before).toMatch(/^region,key,sandbox,server,server_name,occupied_share,/);
  });

  it("fails where OpenMetrics would have to come from a daemon", async () => {
    const { config } = writeConfig({ http: { listen: "127.0.0.1:9" } });
    const asked = ["--from", "7d", "--format", "openmetrics"];
    const ended = await runCommand(["report", "--config", config, ...asked]);
    expect(ended).toMatchObject({ code: 1, err: expect.stringContaining("no store") });
  });

  it("refuses wrong options with exit code 2", async () => {
    const world = await watchWorld({});
    await world.poll();
    const config = configOf(world);
    for (const [args, message] of [
      [["--from", "2026-11-02", "--to", "2026-11-01"], "to: a time after from"],
      [["--from", "7d", "--by", "colour"], "colour is not one of them"],
      [["--from", "7d", "--tz", "Mars/Olympus"], "a time zone such as"],
      [["--from", "7d", "--format", "xml"], "Allowed choices are table, csv, json, openmetrics"],
      [["--from", "7d", "--resolution", "5m", "--by", "hour"], "omit --url, --by and --tz"],
      [["--from", "7d", "--resolution", "5m", "--format", "csv"], "for --format openmetrics only"],
      [["--to", "2026-11-01"], "--from"],
    ] as const) {
      const ended = await runCommand(["report", "--config", config, ...args]);
      expect(ended).toMatchObject({ code: 2, out: "", err: expect.stringContaining(message) });
    }
  });
});

it("insights cut names and ids where the terminal is narrow, but no figure", async () => {
  const world = await watchWorld({ servers: 2 });
  for (let dwell = 0; dwell < 21; dwell += 1) {
    world.show(0, "occupied");
    await world.poll();
    world.show(0, "idle");
    await world.poll();
  }
  world.show(0, "occupied");
  world.show(1, "error");
  await world.poll(25);
  const url = await world.address();
  const tablesAt = async (columns: number): Promise<readonly string[]> => {
    let text = "";
    const out = (more: string): void => void (text += more);
    await runProgram(["insights", "--url", url], { out, err() {}, isInteractive: true, columns });
    return text.slice(text.indexOf("# Names without")).trimEnd().split("\n");
  };
  const [occupied, erred] = world.serverIds.map((id) => id.slice(0, 8));
  const errors = [
    "errors  in error  target       name        server",
    `1       2m        us/research  filesystem  ${erred}`,
    "",
  ];
  const wide = [
    "# Names without an idle server",
    "for    in hours  target       name",
    "3m45s  1         us/research  puppeteer",
    "2m     1         us/research  filesystem",
    "",
    "# Servers with the most errors",
    ...errors,
    "# Servers with the longest errors",
    ...errors,
    "# Occupied for longer than usual for the name",
    "for  usually under  target       name       server",
    `2m   9.5s           us/research  puppeteer  ${occupied}`,
  ];
  expect(await tablesAt(60)).toEqual(wide);
  const cut = (line: string): string =>
    !line.startsWith("#") && line.length > 40 ? `${line.slice(0, 39)}…` : line;
  expect(await tablesAt(40)).toEqual(wide.map(cut));
});
