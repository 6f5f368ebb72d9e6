import { describe, expect, it } from "vitest";
import { runProgram } from "../../src/cli/program.ts";
import { report } from "../../src/cli/report.ts";
import type { ReportOptions } from "../../src/cli/report.ts";
import { writeConfig } from "../support/config-file.ts";
import { runCommand } from "../support/run-command.ts";
import { watchWorld } from "../support/watched-world.ts";

describe("report", () => {
  it("is the same from a store beside its daemon, from the daemon, and from the store alone", async () => {
    const world = await watchWorld({ servers: 5 });
    world.show(0, "occupied");
    await world.poll(3);
    world.show(0, "idle");
    world.show(1, "absent");
    await world.poll(4);
    const { config } = writeConfig({ store: { path: world.config.store.path } });
    const url = await world.address();
    const reportOf = async (options: Partial<ReportOptions>): Promise<string> => {
      let out = "";
      const print = (text: string): void => void (out += text);
      const terminal = { out: print, err() {}, isInteractive: false };
      await report({ from: "2026-11-20T09:30Z", ...options }, terminal, world.clock);
      return out;
    };
    for (const by of ["region,key", "hour", "server"]) {
      const beside = JSON.parse(await reportOf({ config, by, format: "json" }));
      expect(beside).toMatchObject({ tz: "UTC", notes: [] });
      expect(JSON.parse(await reportOf({ url, by, format: "json" }))).toEqual(beside);
    }
    const before = await reportOf({ config, by: "server", format: "csv" });
    await world.daemon().stop();
    expect(await reportOf({ config, by: "server", format: "csv" })).toBe(before);
    expect(before).toMatch(/^region,key,sandbox,server,server_name,occupied_share,/);
  });

  it("by no field has one row for everything", async () => {
    const world = await watchWorld({ servers: 3 });
    await world.poll(2);
    const url = await world.address();
    const asked = ["report", "--url", url, "--from", "2026-11-20T09:30Z", "--format", "csv"];
    const { out } = await runCommand([...asked, "--by", ""]);
    expect(out.trimEnd().split("\n")).toEqual([
      expect.stringMatching(/^occupied_share,/),
      expect.stringMatching(/^0,1,/),
    ]);
  });

  it("fails where OpenMetrics would have to come from a daemon", async () => {
    const { config } = writeConfig({ http: { listen: "127.0.0.1:9" } });
    const asked = ["--from", "7d", "--format", "openmetrics"];
    const ended = await runCommand(["report", "--config", config, ...asked]);
    expect(ended).toMatchObject({ code: 1, err: expect.stringContaining("no store") });
  });
});

it("insights cut names and ids where the terminal is narrow, but no figure", async () => {
  const world = await watchWorld({ servers: 2 });
  for (let dwell = 0; dwell < 42; dwell += 1) {
    world.show(0, dwell % 2 === 0 ? "occupied" : "idle");
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
  const wide = `
# Names without an idle server
for    in hours  target       name
3m45s  1         us/research  puppeteer
2m     1         us/research  filesystem

# Servers with the most errors
errors  in error  target       name        server
1       2m        us/research  filesystem  ${erred}

# Servers with the longest errors
errors  in error  target       name        server
1       2m        us/research  filesystem  ${erred}

# Occupied for longer than usual for the name
for  usually under  target       name       server
2m   5.0s           us/research  puppeteer  ${occupied}`;
  const lines = wide.trim().split("\n");
  expect(await tablesAt(60)).toEqual(lines);
  const narrow = await tablesAt(40);
  expect(narrow.slice(-2)).toEqual([
    "for  usually…  target    name      serv…",
    `2m   5.0s      us/rese…  puppete…  ${occupied?.slice(0, 4)}…`,
  ]);
});

it("insights show a pool without a value as reports show it", async () => {
  const world = await watchWorld({ servers: 2 });
  await world.poll(2);
  const url = await world.address();
  const { out } = await runCommand(["insights", "--url", url, "--by", "region,tag"]);
  const [titles, row] = out.slice(out.indexOf("runs out  ")).split("\n");
  expect(titles).toMatch(/ target +pool$/);
  expect(row).toMatch(/^unknown .* us +-$/);
});
