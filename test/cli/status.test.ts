import { describe, expect, it } from "vitest";
import { addSandboxes } from "../../src/cli/sandboxes.ts";
import { addServers } from "../../src/cli/servers.ts";
import { lookOf } from "../../src/cli/look.ts";
import { addStatus, statusText } from "../../src/cli/status.ts";
import { addTargets } from "../../src/cli/targets.ts";
import { acknowledgeIncident } from "../../src/api/operations/acknowledgements.ts";
import { listIncidents } from "../../src/api/operations/incidents.ts";
import { viewTarget } from "../../src/api/operations/targets.ts";
import { Command } from "commander";
import { createFakeClock } from "../support/fake-clock.ts";
import { listing, startMs, watchFleet } from "../support/fleet.ts";
import { writeConfig } from "../support/config-file.ts";
import { startListedService } from "../support/listed-service.ts";
import { runCommand } from "../support/run-command.ts";
import { watchWorld, type WatchedWorld } from "../support/watched-world.ts";

/** What a command prints, on the clock of the world. */
async function printed(
  world: WatchedWorld,
  add: typeof addStatus,
  ...args: readonly string[]
): Promise<string> {
  let out = "";
  const { clock } = world;
  const terminal = { out: (text: string) => (out += text), err() {}, isInteractive: false, clock };
  const program = new Command();
  add(program, terminal);
  await program.parseAsync([...args, "--url", await world.address()], { from: "user" });
  return out;
}

/** Of what is not there. */
const quietRules = [
  { name: "quiet", on: "server", status: "idle", match: { server_name: "none" } },
];

describe("status", () => {
  it("says that nothing is wrong, and how many servers are in which status", async () => {
    const world = await watchWorld();
    await world.poll();
    expect(await printed(world, addStatus, "status")).toBe(
      "All is well: no incident is firing, 1 target up. Last poll: 0 s ago.\nsandboxes: 1 idle, 0 occupied, 0 error, 0 unknown, 0 unobserved\nservers: 3 idle, 0 occupied, 0 error, 0 unknown, 0 unobserved\n",
    );
  });

  it("counts what flaps and is well now apart from what is in error", async () => {
    const flap = { changes: 1, within: "1m" };
    const rules = [{ name: "erring", on: "server", status: "error", flap }];
    const world = await watchWorld({ alerts: { rules } });
    for (const status of ["error", "idle", "error", "idle"] as const) {
      world.show(0, status);
      await world.poll();
    }
    const text = await printed(world, addStatus, "status");
    expect(text).toMatch(/^1 incident is flapping or recovering, well now\. Last poll/);
    expect(text).toMatch(/ flapping, now idle for 0 s$/m);
    expect(text).toContain(" 0 error, ");
  });

  it("lists what is wrong, worst first, and last what somebody takes care of; targets and servers list which are down since when and why", async () => {
    // A region that fails, and a server in error in the other one.
    const world = await watchWorld({ regions: ["eu", "us"], keys: ["a", "b"] });
    await world.poll();
    world.show(0, "error");
    world.fail({ kind: "status", status: 400, region: "us" });
    await world.poll(24);
    const lines = (await printed(world, addStatus, "status")).split("\n");
    expect(lines.slice(0, 4)).toEqual([
      "2 incidents are firing, and 2 of 4 targets are down. 2 incidents are silenced or inhibited. Last poll: 0 s ago.",
      expect.stringMatching(
        /^sandboxes: \d+ idle, \d+ occupied, 1 error, 0 unknown, 2 unobserved$/,
      ),
      expect.stringMatching(/^servers: \d+ idle, \d+ occupied, 1 error, 0 unknown, 6 unobserved$/),
      "",
    ]);
    const rules = lines
      .slice(9, 13)
      .map((line) => / (region-down|server-error|target-down) /.exec(line)?.[1]);
    expect(rules).toEqual(["region-down", "server-error", "target-down", "target-down"]);
    expect(lines[11]).toMatch(/^warning +target-down .* us\/\w +inhibited$/);
    expect(lines.slice(4, 8)).toEqual([
      expect.stringMatching(/^down +failed +since +why$/),
      expect.stringMatching(/^us\/a +24 polls +2 min ago +HTTP 400$/),
      expect.stringMatching(/^us\/b +24 polls +2 min ago +HTTP 400$/),
      "",
    ]);
    const exact = await printed(world, addStatus, "status", "--timestamps");
    expect(exact).toMatch(/^us\/a +24 polls +\d{4}-\d\d-\d\dT/m);
    const json = await printed(world, addStatus, "status", "--json");
    expect(JSON.parse(json)).toMatchObject({ targets: { length: 4 }, incidents: { length: 4 } });

    const targets = (await printed(world, addTargets, "targets")).split("\n");
    expect(targets).toEqual([
      expect.stringMatching(
        /^target +state +idle +occupied +error +unknown +unobserved +since +why$/,
      ),
      expect.stringMatching(/^eu\/a +up +\d +\d +1 +0 +0$/),
      expect.stringMatching(/^eu\/b +up +\d +\d +0 +0 +0$/),
      expect.stringMatching(/^us\/a +down +0 +0 +0 +0 +3 +2 min ago +HTTP 400$/),
      expect.stringMatching(/^us\/b +down +0 +0 +0 +0 +3 +2 min ago +HTTP 400$/),
      "",
    ]);
    const one = await printed(world, addTargets, "targets", "--region", "us", "--limit", "1");
    expect(one).toContain("There is more: add --cursor ");

    const erring = await printed(world, addServers, "servers", "--status", "error");
    expect(erring).toMatch(/^error +115 s ago +eu +a .* [-\da-f]{36} /m);
    expect(erring.split("\n")).toHaveLength(3);
    const page = await printed(world, addServers, "servers", "--region", "us", "--limit", "1");
    const [, cursor = ""] = /^There is more: add --cursor (\S+)$/m.exec(page) ?? [];
    expect(page).toContain(" (unobserved) ");
    const rest = await printed(world, addServers, "servers", "--region", "us", "--cursor", cursor);
    expect(rest.trimEnd().split("\n")).toHaveLength(6);

    world.show(1, "error");
    await world.poll(2);
    const subjects = async (): Promise<readonly (string | undefined)[]> => {
      const out = await printed(world, addStatus, "status", "--all");
      return out.split("\n").flatMap((line) => /^critical +(\S+)/.exec(line)?.[1] ?? []);
    };
    expect(await subjects()).toEqual(["region-down", "server-error", "server-error"]);
    const { api } = world.daemon();
    const { incidents } = await api(listIncidents, { state: "firing", rule: "region-down" });
    await api(acknowledgeIncident, { id: incidents[0]?.id ?? "", author: "ann" });
    expect(await subjects()).toEqual(["server-error", "server-error", "region-down"]);
  });
});

it("status and targets call a refused key by its HTTP status, also while it is not asked again", async () => {
  const world = await watchWorld();
  await world.poll();
  world.fail({ kind: "status", status: 403 });
  for (let polls = 0; polls < 5; polls += 1) {
    await world.poll();
    for (const add of [addStatus, addTargets]) {
      const text = await printed(world, add, add === addStatus ? "status" : "targets");
      expect(text).toMatch(/us\/research .* HTTP 403$/m);
    }
  }
});

it("status shows the incidents of one cause as one line, and each with --all", async () => {
  const world = await watchWorld({ servers: 12 });
  for (let server = 0; server < 12; server += 1) world.show(server, "error");
  await world.poll();
  const { api } = world.daemon();
  const { incidents } = await api(listIncidents, { rule: "server-error", state: "firing" });
  await api(acknowledgeIncident, { id: incidents[0]?.id ?? "", author: "ann" });
  const grouped = await printed(world, addStatus, "status");
  const lines = grouped.split("\n").filter((line) => line.includes("server-error"));
  expect(lines).toEqual([
    expect.stringMatching(/^critical +server-error +0 s ago +11 in us\/research: /),
    expect.stringMatching(/^critical +server-error +0 s ago +\w{8} +us\/research .* by ann/),
  ]);
  const whole = await printed(world, addStatus, "status", "--all");
  expect(whole.split("\n").filter((line) => line.includes("server-error"))).toHaveLength(12);
});

it("status shows as one line what is inhibited, and by what with --all", async () => {
  const service = await startListedService({
    a: ["error", ["error"]],
    b: ["error", ["error"]],
  });
  const world = await watchWorld({ baseUrl: service.baseUrl });
  await world.poll(2);
  const linesOf = async (...options: readonly string[]) => {
    const text = await printed(world, addStatus, "status", ...options);
    return text.split("\n").filter((line) => line.includes("sandbox-error"));
  };
  expect(await linesOf()).toEqual([expect.stringMatching(/ 2 in us\/research +inhibited$/)]);
  expect(await linesOf("--all")).toEqual([
    expect.stringMatching(/ inhibited by \w{8}$/),
    expect.stringMatching(/ inhibited by \w{8}$/),
  ]);
});

it("status does not say that all is well while a sandbox is in error", async () => {
  const service = await startListedService({ a: ["error", []], b: ["idle", ["idle"]] });
  const world = await watchWorld({ baseUrl: service.baseUrl, alerts: { rules: quietRules } });
  await world.poll();
  const out = await printed(world, addStatus, "status");
  expect(out).toMatch(/^No incident is firing, but 1 sandbox is in error\. Last poll/);
  expect(out).toContain("sandboxes: 1 idle, 0 occupied, 1 error, 0 unknown, 0 unobserved\n");
  service.list({ a: ["idle", []], b: ["error", ["error"]] });
  await world.poll();
  expect(await printed(world, addStatus, "status")).toMatch(
    /^No incident is firing, but 1 sandbox and 1 server are in error\./,
  );
});

it("status does not call targets unpolled that another active process polls, nor failed what was not stored", () => {
  const { watched, poll } = watchFleet();
  const process = {
    address: "https://b.example.com",
    version: "1",
    active: true,
    since: new Date(startMs).toISOString(),
    last_seen: new Date(startMs).toISOString(),
    live: true,
  };
  const look = lookOf({ out() {}, err() {}, isInteractive: false });
  const text = (processes: readonly (typeof process)[]) =>
    statusText({ targets: [viewTarget(watched)], incidents: [], processes }, false, look);
  expect(text([process])).toMatch(
    /^Only https:\/\/b\.example\.com, which is active, knows whether 1 of 1 target is up\./,
  );
  expect(text([{ ...process, live: false }])).toMatch(/^1 of 1 target not polled at present\./);
  poll(listing({ a: "idle" }));
  watched.losePoll();
  expect(text([])).toMatch(/^us\/research .* not stored, see the log$/m);
});

describe("sandboxes", () => {
  it("lists the sandboxes that are selected, and says how to go on", async () => {
    const service = await startListedService({
      "box-1": ["idle", ["idle", "occupied"], "Atlas"],
      "box-2": ["error", ["idle", "error", "nonsense"]],
      lone: ["error", []],
    });
    const world = await watchWorld({ baseUrl: service.baseUrl });
    await world.poll();
    const list = (...options: readonly string[]) =>
      printed(world, addSandboxes, "sandboxes", ...options);
    const [head, ...rows] = (await list()).trimEnd().split("\n");
    expect(head).toMatch(/^status +since +region +key +sandbox +servers +created +benchmark$/);
    expect(rows).toEqual([
      expect.stringMatching(/^idle +0 s ago +us +research +box-1 +2 +2 d ago +Atlas$/),
      expect.stringMatching(
        /^error +0 s ago +us +research +box-2 +3 \(1 error, 1 unknown\) +2 d ago$/,
      ),
      expect.stringMatching(/^error +0 s ago +us +research +lone +0 +2 d ago$/),
    ]);
    expect(await list("--status", "error", "--name", "slack")).toMatch(/^error .* box-2 /m);
    expect(await list("--benchmark", "none")).toBe("There are no such sandboxes.\n");
    const page = await list("--limit", "1");
    const [, cursor = ""] = /^There is more: add --cursor (\S+)$/m.exec(page) ?? [];
    expect((await list("--cursor", cursor)).trimEnd().split("\n")).toHaveLength(3);
    expect(JSON.parse(await list("--json", "--sandbox", "lo"))).toMatchObject({
      sandboxes: [{ sandbox_id: "lone", status: "error" }],
    });
  });
});

it("commands find the daemon by SANDWATCH_URL, where neither a configuration nor an address is given", async () => {
  const world = await watchWorld();
  const url = await world.address();
  const found = await runCommand(["incidents"], { SANDWATCH_URL: url });
  expect(found).toEqual({ code: 0, out: "There are no such incidents.\n", err: "" });
  const wrong = await runCommand(["incidents"], { SANDWATCH_URL: "x" });
  expect(wrong).toMatchObject({ code: 2, err: expect.stringContaining("SANDWATCH_URL must be") });
});

it("commands find the configuration by SANDWATCH_CONFIG, but for those that are given another place", async () => {
  const { config } = writeConfig();
  const environment = { SANDWATCH_CONFIG: config };
  const found = await runCommand(["check-config"], environment);
  expect(found).toMatchObject({ code: 0, out: expect.stringContaining(`${config} is valid`) });
  const beginnings = {
    poll: "us/research: ",
    status: "There is no store",
    "store check": "There is",
  };
  for (const [command, beginning] of Object.entries(beginnings)) {
    const ended = await runCommand(command.split(" "), environment);
    expect(ended.err.slice(0, beginning.length)).toBe(beginning);
  }
  const elsewhere = await runCommand(["status", "--url", "http://127.0.0.1:1"], environment);
  expect(elsewhere).toMatchObject({ code: 1, err: "Nothing listens at http://127.0.0.1:1.\n" });
  const backup = await runCommand(["store", "check", "/nowhere.db"], environment);
  expect(backup.err).toContain("/nowhere.db");
  const poll = await runCommand(["poll", "--url", "http://127.0.0.1:1"], environment);
  expect(poll).toMatchObject({ code: 2, err: expect.stringContaining("Give --config FILE") });
});

it.each([
  [0, "0 s ago"],
  [119, "119 s ago"],
  [120, "2 min ago"],
  [7_199, "119 min ago"],
  [7_200, "2 h ago"],
  [172_799, "47 h ago"],
  [172_800, "2 d ago"],
  [-5, "in 5 s"],
  [-172_800, "in 2 d"],
])("a time %i seconds ago is %j", (seconds, text) => {
  const clock = createFakeClock();
  const look = lookOf({ out() {}, err() {}, isInteractive: true, clock });
  const atMs = clock.now().utcMs - seconds * 1_000;
  expect(look.timeText(new Date(atMs).toISOString())).toBe(text);
});
