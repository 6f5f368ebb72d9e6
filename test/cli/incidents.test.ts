import { Command } from "commander";
import { expect, it } from "vitest";
import { addIncidents } from "../../src/cli/incidents.ts";
import { addStatus } from "../../src/cli/status.ts";
import { watchWorld, type WatchedWorld } from "../support/watched-world.ts";

/** The lines that a command prints, on the clock of the world. */
async function linesOf(
  world: WatchedWorld,
  line: string,
  columns?: number,
): Promise<readonly string[]> {
  let out = "";
  const terminal = {
    out: (text: string) => (out += text),
    err() {},
    isInteractive: false,
    clock: world.clock,
    columns,
  };
  const program = new Command();
  addStatus(program, terminal);
  addIncidents(program, terminal);
  await program.parseAsync([...line.split(" "), "--url", await world.address()], { from: "user" });
  return out.trimEnd().split("\n");
}

/** Forty servers in error, and one that has recovered. */
async function watchForty(): Promise<WatchedWorld> {
  const world = await watchWorld({ servers: 41 });
  await world.poll();
  world.show(40, "error");
  await world.poll();
  world.show(40, "idle");
  await world.poll(10);
  for (let server = 0; server < 40; server += 1) world.show(server, "error");
  await world.poll(2);
  return world;
}

it("incidents of one cause are one line, and each is listed with --all", async () => {
  const world = await watchForty();
  const grouped = await linesOf(world, "incidents");
  expect(grouped).toEqual([
    expect.stringMatching(/^id +state +severity +rule +subject +started$/),
    expect.stringMatching(/^ +firing +critical +server-error +40 in us\/research: .* 5 s ago$/),
    "",
    expect.stringMatching(/^id +state +severity +rule +subject +started +resolved$/),
    expect.stringMatching(/^\w{8} +resolved +critical +server-error +us\/research .* ago$/),
  ]);
  expect(await linesOf(world, "incidents --state firing")).toHaveLength(2);
  expect(await linesOf(world, "incidents --state resolved")).toEqual(grouped.slice(3));
  const all = await linesOf(world, "incidents --all");
  expect(all).toHaveLength(1 + 40 + 1);
  expect(all[1]).toMatch(/^\w{8} +firing +critical +server-error +us\/research /);
  expect(await linesOf(world, "incidents --rule none")).toEqual(["There are no such incidents."]);
});

it.each(["incidents --state firing", "status"])(
  "%s counts and lists apart what is in error where nothing is observed at present",
  async (line) => {
    const world = await watchWorld({ servers: 41, regions: ["us", "eu"] });
    for (let server = 0; server < 40; server += 1) world.show(server, "error");
    await world.poll();
    world.fail({ kind: "status", status: 400, region: "us" });
    await world.poll(4);
    const lines = await linesOf(world, line);
    const title = lines.indexOf("not observed at present, so when last observed (40):");
    expect(lines.slice(title + 2)).toEqual([
      expect.stringMatching(/ server-error .*40 in us\/research/),
    ]);
    expect(lines.slice(0, title).join()).not.toContain("40 in us");
  },
);

it.each([80, 60])(
  "at %i columns ids are whole, and how many and where is said",
  async (columns) => {
    const world = await watchForty();
    const lines = await linesOf(world, "incidents", columns);
    for (const each of lines) expect(each.length).toBeLessThanOrEqual(columns);
    expect(lines[1]).toContain("40 in us/research");
    const [, id = ""] = /^(\w{8}) +resolved /.exec(lines[4] ?? "") ?? [];
    expect((await linesOf(world, "incidents --state resolved --json")).join()).toContain(`"${id}"`);
    const [, server = ""] = / ([\da-f]{8}) /.exec(lines[4] ?? "") ?? [];
    expect(world.serverIds[40]).toMatch(new RegExp(`^${server}-`));
  },
);
