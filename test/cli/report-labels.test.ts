import { describe, expect, it } from "vitest";
import { report } from "../../src/cli/report.ts";
import type { ReportOptions } from "../../src/cli/report.ts";
import { runCommand } from "../support/run-command.ts";
import { watchWorld } from "../support/watched-world.ts";

/** Two keys of one team, and one of none. */
async function watchTeams() {
  const world = await watchWorld({
    keys: ["find", "rank", "spare"],
    labels: { find: { team: "search" }, rank: { team: "search" } },
  });
  world.show(0, "occupied");
  await world.poll(3);
  const url = await world.address();
  const reportOf = async (options: Partial<ReportOptions>): Promise<string> => {
    let out = "";
    const print = (text: string): void => void (out += text);
    const terminal = { out: print, err: print, data: print, isInteractive: false };
    await report({ url, from: "2026-11-20T09:30Z", ...options }, terminal, world.clock);
    return out;
  };
  return { world, url, reportOf };
}

const sum = (rows: readonly Readonly<Record<string, number>>[], field: string): number =>
  rows.reduce((total, row) => total + (row[field] ?? 0), 0);

describe("report by a label of keys", () => {
  it("adds up the keys with one value, and counts those without the label by themselves", async () => {
    const { reportOf } = await watchTeams();
    const { rows: keys } = JSON.parse(await reportOf({ by: "key", format: "json" }));
    const { rows, by } = JSON.parse(await reportOf({ by: "team", format: "json" }));
    expect(by).toEqual(["team"]);
    const [none, search] = rows;
    expect(rows).toHaveLength(2);
    expect([none.team, search.team]).toEqual(["no team", "search"]);
    const [find, rank, spare] = keys;
    for (const field of ["server_seconds", "occupied_seconds", "servers_average", "servers_peak"]) {
      expect(search[field]).toBeCloseTo(sum([find, rank], field));
      expect(none[field]).toBe(spare[field]);
    }
    expect(search.occupied_seconds).toBe(10);
  });

  it("goes with other fields, and has a column for it in tables, CSV and pages", async () => {
    const { reportOf } = await watchTeams();
    for (const [by, count] of [
      ["team,server_name", 9],
      ["hour,team", 2],
      ["server,team", 9],
      ["benchmark,team", 4],
    ] as const) {
      const { rows } = JSON.parse(await reportOf({ by, format: "json" }));
      const teams = new Set(rows.map(({ team }: { readonly team: string }) => team));
      expect([by, rows.length, teams]).toEqual([by, count, new Set(["no team", "search"])]);
    }
    const table = await reportOf({ by: "team" });
    expect(table).toMatch(/^team\s+occupied/m);
    expect(table).toMatch(/^no team\s/m);
    const csv = await reportOf({ by: "team,key", format: "csv" });
    expect(csv).toMatch(/^team,key,occupied_share,/);
    expect(csv).toMatch(/^search,rank,/m);
    const page = await reportOf({ by: "team", format: "html" });
    expect(page).toContain("By team");
    expect(page).toMatch(/<bdi>no team<\/bdi>/);
  });

  it("says which labels there are where it is asked by another word", async () => {
    const { url } = await watchTeams();
    const ended = await runCommand(["report", "--url", url, "--from", "1d", "--by", "tema"]);
    expect(ended).toMatchObject({
      code: 2,
      err: expect.stringMatching(
        /labels of keys: team; tema is not one of them; did you mean team\?/,
      ),
    });
  });

  it("pools servers for insights and their CSV", async () => {
    const { url } = await watchTeams();
    const insights = ["insights", "--url", url, "--from", "2026-11-20T09:30Z", "--by", "team"];
    const { out } = await runCommand([...insights, "--json"]);
    const { forecasts } = JSON.parse(out);
    const teams = new Set(forecasts.map(({ team }: { readonly team: string }) => team));
    expect(teams).toEqual(new Set(["no team", "search"]));
    const csv = await runCommand([...insights, "--format", "csv"]);
    expect(csv.out).toMatch(/^team,region,key,/);
    expect(csv.out).toMatch(/^search,/m);
  });

  it("has only the keys with a label in all of a page", async () => {
    const { reportOf } = await watchTeams();
    const page = await reportOf({ label: "team=search", format: "html" });
    expect(page).toContain("of 6 servers");
    expect(page).not.toContain("<bdi>spare");
  });
});

it("commands with --label have only what is of keys with the label", async () => {
  const { url, world } = await watchTeams();
  world.show(1, "error");
  await world.poll();
  for (const command of ["targets", "servers", "sandboxes", "incidents", "changes", "status"]) {
    const run = (...args: readonly string[]) => runCommand([command, "--url", url, ...args]);
    expect([command, (await run()).out]).toEqual([command, expect.stringContaining("find")]);
    const search = await run("--label", "team=search");
    expect([command, search.out]).toEqual([command, expect.stringContaining("find")]);
    expect([command, search.out]).toEqual([command, expect.not.stringContaining("spare")]);
    const reason = /No key has team=agents\. Allowed: labels that a key has.*known: team=search/;
    const other = { code: 2, err: expect.stringMatching(reason) };
    expect(await run("--label", "team=agents")).toMatchObject(other);
  }
});

it("exports the labels of each key once", async () => {
  const { world } = await watchTeams();
  const series = (await world.metrics()).match(/^sandwatch_key_info\{.*$/gm);
  expect(series).toEqual([
    'sandwatch_key_info{key="find",team="search"} 1',
    'sandwatch_key_info{key="rank",team="search"} 1',
    'sandwatch_key_info{key="spare"} 1',
  ]);
});
