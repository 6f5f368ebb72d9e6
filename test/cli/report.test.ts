import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { report } from "../../src/cli/report.ts";
import type { ReportOptions } from "../../src/cli/report.ts";
import { runCommand } from "../support/run-command.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { watchWorld } from "../support/watched-world.ts";
import type { WatchedWorld } from "../support/watched-world.ts";

/** A configuration file, as a command is given it. */
function writeConfig(store: string): string {
  const file = join(tempFolder(), "sandwatch.yaml");
  const config = {
    regions: { us: { base_url: "http://127.0.0.1:9" } },
    keys: [{ name: "research", api_key: "unused" }],
    store: { path: store },
    http: { listen: "127.0.0.1:0" },
  };
  writeFileSync(file, JSON.stringify(config));
  return file;
}

async function tell(world: WatchedWorld, options: Omit<ReportOptions, "from">): Promise<string> {
  let out = "";
  const terminal = { out: (text: string) => void (out += text), err() {}, isInteractive: false };
  await report({ from: "2026-11-20T09:30Z", ...options }, terminal, world.clock);
  return out;
}

describe("sandwatch report", () => {
  it("tells the same of a store beside its daemon, of the daemon, and of the store alone", async () => {
    const world = await watchWorld({ servers: 5 });
    world.show(0, "occupied");
    await world.poll(3);
    world.show(0, "idle");
    world.show(1, "absent");
    await world.poll(4);
    const config = writeConfig(world.config.store.path);
    const url = await world.address();
    for (const by of ["region,key", "hour", "server"]) {
      const beside = await tell(world, { config, by, format: "json" });
      expect(JSON.parse(beside)).toMatchObject({ tz: "UTC", notes: [] });
      expect(await tell(world, { url, by, format: "json" })).toBe(beside);
    }
    const before = await tell(world, { config, by: "server", format: "csv" });
    await world.daemon().stop();
    expect(await tell(world, { config, by: "server", format: "csv" })).toBe(before);
    expect(before).toMatch(/^region,key,sandbox,server,server_name,occupied_share,/);
  });

  it("makes no store where there is none", async () => {
    const store = join(tempFolder(), "none.db");
    const args = ["report", "--from", "7d", "--config", writeConfig(store)];
    expect(await runCommand(args)).toEqual({
      code: 1,
      out: "",
      err: expect.stringMatching(/^There is no store .*none\.db/),
    });
    expect(existsSync(store)).toBe(false);
  });

  it.each([
    [["--from", "2026-11-02", "--to", "2026-11-01"], "to: a time after from"],
    [["--from", "7d", "--by", "colour"], "colour is not one of them"],
    [["--from", "7d", "--tz", "Mars/Olympus"], "a time zone such as"],
    [["--from", "7d", "--format", "xml"], "Allowed choices are table, csv, json, openmetrics"],
    [["--from", "7d", "--format", "openmetrics", "--by", "hour"], "leave out --by"],
    [["--from", "7d", "--resolution", "5m"], "--resolution is for --format openmetrics alone"],
    [["--to", "2026-11-01"], "--from"],
  ])("refuses %j as wrong use", async (args, message) => {
    const world = await watchWorld({});
    await world.poll();
    const config = writeConfig(world.config.store.path);
    const ended = await runCommand(["report", "--config", config, ...args]);
    expect(ended).toMatchObject({ code: 2, out: "", err: expect.stringContaining(message) });
  });
});
