import { readFileSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { request } from "undici";
import { describe, expect, it } from "vitest";
import { apiOperations } from "../../src/api/operations.ts";
import { listIncidents } from "../../src/api/operations/incidents.ts";
import { addSilence } from "../../src/api/operations/silences.ts";
import { listNotifications } from "../../src/api/operations/notifications.ts";
import { createLogger } from "../../src/lib/logger.ts";
import { postgresFolder } from "../store/support/postgres.ts";
import { hostile } from "../support/secret-peers.ts";
import { startWorld, type SecretWorld } from "../support/secret-world.ts";

/** Follows the stream of events. Gives what it sent until then, once it has sent changes and incidents. */
async function followEvents({ address, dispatcher, tokenOf, clock }: SecretWorld) {
  const headers = { authorization: `Bearer ${tokenOf("viewer")}` };
  const { body } = await request(`${address}/api/v1/events`, { dispatcher, headers });
  body.on("error", () => {});
  let text = "";
  body.on("data", (chunk: Buffer) => (text += chunk.toString()));
  return async (): Promise<string> => {
    while (!/event: change[^]*event: incident/.test(text)) {
      clock.advance(1_000);
      await setImmediate();
    }
    body.destroy();
    return text;
  };
}

/** Every GET, and each POST that is not a look-up, as a viewer and as an operator. */
async function callEverything(world: SecretWorld): Promise<void> {
  const { call, daemon } = world;
  const { incidents } = await daemon.api(listIncidents, {});
  const { notifications } = await daemon.api(listNotifications, {});
  const ids = { incident: incidents[0]?.id ?? "", notification: notifications[0]?.seq ?? 0 };
  const other = { match: { region: "none" }, force: true, author: "ann", reason: hostile };
  const { id: open } = await daemon.api(addSilence, { ...other, duration: "1d" });
  const pathOf = (path: string): string =>
    `/api/v1${path
      .replace("/notifications/{id}", `/notifications/${ids.notification}`)
      .replace("/silences/{id}", `/silences/${open}`)
      .replace("{id}", ids.incident)}`;
  const place = "region=us&key=research&sandbox=sandbox-1&server=server-1";
  const queryOf: Readonly<Record<string, string>> = {
    "/explain": "?server=server-1",
    "/explain/sandbox": "?sandbox=sandbox-1",
    "/sandboxes/show": "?region=us&key=research&sandbox=sandbox-1",
    "/sandboxes/timeline": "?region=us&key=research&sandbox=sandbox-1",
    "/occupancy": "?from=1d&by=server_name",
    "/insights": "?from=1d",
    "/outlook": "?from=1d",
    "/servers/timeline": `?${place}`,
  };
  const shown = apiOperations
    .filter(({ method }) => method === "GET")
    .map(({ path }) => pathOf(path) + (queryOf[path] ?? ""));
  const acting = apiOperations.filter(
    ({ method, path }) => method === "POST" && !path.startsWith("/lookups"),
  );
  const others =
    `/ /incidents /servers /occupancy /report?from=1d /metrics /-/healthy /-/ready /api/openapi.json
    /incidents/ID /incidents/ID/acknowledge /incidents/ID/silence /incidents/acknowledge?rule=erring
    /incidents/ID/unacknowledge /incidents/unacknowledge?rule=erring /incidents/silence?rule=erring
    /silences/OPEN /silences/OPEN/change /silences/OPEN/end /server?PLACE /server/silence?PLACE`
      .replaceAll(/OPEN|ID|PLACE/g, (word) => ({ OPEN: open, ID: ids.incident })[word] ?? place)
      .split(/\s+/);
  for (const role of ["viewer", "operator"] as const) {
    for (const path of [...others, ...shown]) {
      expect([path, await call("GET", path, role)]).toEqual([path, 200]);
    }
    for (const { path } of acting) await call("POST", pathOf(path), role, {});
  }
  const { incident } = ids;
  const note = { author: hostile, note: hostile };
  const acknowledged = await call(
    "POST",
    `/api/v1/incidents/${incident}/acknowledge`,
    "operator",
    note,
  );
  const match = { server_name: [hostile] };
  const silence = { match, author: hostile, reason: hostile, duration: "1h" };
  const silenced = await call("POST", "/api/v1/silences", "operator", silence);
  const replayed = await call("POST", "/api/v1/notifications/replay", "operator", {
    receiver: "chat",
  });
  expect([acknowledged, silenced, replayed]).toEqual([200, 201, 200]);
}

/** Callers who put secrets where none belong. */
async function callWithSecrets({ call, plant, clock, password }: SecretWorld): Promise<void> {
  const wrong = plant("caller: wrong token");
  const basic = (user: string, secret: string): string =>
    `Basic ${Buffer.from(`${user}:${secret}`).toString("base64")}`;
  expect(await call("GET", "/", `Bearer ${wrong}`)).toBe(401);
  expect(await call("GET", "/", basic("ann", plant("caller: wrong password")))).toBe(401);
  expect(await call("GET", "/", basic("ann", password))).toBe(200);
  clock.advance(60_000);
  expect(await call("GET", "/", `Digest ${plant("caller: other scheme")}`)).toBe(401);
}

/** What is echoed to the caller alone must not be in the log. */
async function callWithSecretsInAddresses({
  run,
  plant,
  address,
  dispatcher,
  tokenOf,
}: SecretWorld) {
  const headers = {
    authorization: `Bearer ${tokenOf("admin")}`,
    "content-type": "application/json",
    cookie: `session=${plant("caller: cookie")}`,
    "user-agent": plant("caller: user agent"),
    referer: `https://example.com/?${plant("caller: referer")}`,
  };
  const secret = plant("caller: path");
  for (const [method, path] of [
    ["GET", `/${secret}`],
    ["GET", `/api/v1/${secret}`],
    ["GET", `/api/v1/targets?token=${plant("caller: query")}`],
    ["GET", `/metrics?token=${plant("caller: query of metrics")}`],
    ["GET", `/api/v1/notifications/${secret}`],
    ["POST", `/api/v1/incidents/${secret}/acknowledge`],
    ["POST", `/api/v1/lookups/${secret}`],
    ["POST", `/-/reload?${secret}`],
  ] as const) {
    const body = method === "POST" ? JSON.stringify({ [secret]: secret, author: "ann" }) : null;
    const response = await request(address + path, { dispatcher, method, headers, body });
    await response.body.dump();
  }
  for (const url of [`http://ann:${secret}@127.0.0.1:1`, `http://127.0.0.1:1/?token=${secret}`]) {
    expect((await run(["explain", "--url", url, "x"])).code).toBe(2);
  }
}

const lookups: readonly (readonly string[])[] = [
  ["user", "known"],
  ["user", "invalid"],
  ["user", "missing"],
  ["user", "failing"],
  ["universes"],
  ["universe-data", "atlas"],
  ["white-label", "client"],
  ["sandboxes"],
];

const queries: readonly (readonly string[])[] = [
  ["changes"],
  ["incidents"],
  ["explain", "server-1"],
  ["notifications"],
  ["notifications", "show", "1"],
  ["silence", "list"],
  ["probes"],
  ["drift"],
  ["report", "--from", "2026-11-20", "--to", "2026-11-21", "--by", "server_name"],
  ["report", "--from", "2026-11-20", "--to", "2026-11-21", "--by", "server", "--format", "csv"],
  ["insights", "--from", "2026-11-20", "--to", "2026-11-21"],
  ["status"],
  ["targets"],
  ["servers"],
];

async function runCommands({ run, configFile, settings }: SecretWorld): Promise<void> {
  const config = ["--config", configFile];
  expect((await run(["check-config", ...config])).code).toBe(0);
  for (const query of queries) {
    for (const json of [[], ["--json"]]) {
      if (json.length > 0 && query.includes("--format")) continue;
      const ended = await run([...query, ...json, ...config]);
      // Listings with what cannot be kept are partial, and nothing of them is observed.
      const faults = ended.err.replace("note: Nothing was observed in this range.\n", "");
      expect([query, ended.code, faults]).toEqual([query, 0, ""]);
    }
  }
  for (const lookup of lookups) {
    const args = ["lookup", ...lookup, "--key", "research", ...config];
    await run(args, "caller");
    await run([...args, "--json"], "caller");
  }
  for (const { name } of settings.keys) {
    await run(["lookup", "user", "known", "--key", name ?? "", ...config], "caller");
  }
  await run([
    "conformance",
    "--key",
    "research",
    "--user",
    "known",
    "--client",
    "client",
    ...config,
  ]);
  await run(["poll", ...config]);
  await run(["poll", "--json", ...config]);
}

async function runActs({ run, configFile, settings }: SecretWorld): Promise<void> {
  const config = ["--config", configFile];
  await run(["poll", "--now", "--key", "failing", ...config]);
  await run(["silence", "add", "--for", "1h", "--name", "x*", "--author", "ann", ...config]);
  for (const dry of [["--dry-run"], []]) {
    const sent = await run(["send-report", "weekly", ...dry, ...config]);
    expect([sent.code, sent.err]).toEqual([0, ""]);
  }
  await run(["ack", "--all", "--author", hostile, ...config]);
  for (const { name } of settings.alerts.receivers) {
    await run(["test-receiver", name, ...config]);
    const dryRun = await run(["test-receiver", name, "--dry-run", ...config]);
    expect([name, dryRun.code, dryRun.err]).toEqual([name, 0, ""]);
  }
}

/** Everything about the store and the installation. */
async function runCare(world: SecretWorld): Promise<void> {
  const { run, configFile, plant } = world;
  const config = ["--config", configFile];
  expect((await run(["doctor", ...config])).out).toMatch(/far \(webhook\): the proxy requires/);
  await run(["doctor", "--json", ...config]);
  if (postgresFolder === undefined) await runCareOfFiles(world);
  await run(["store", "forget", "--key", plant("no key"), "--yes", "--url", "http://127.0.0.1:1"]);
  await run(["store", "forget", "--key", "research", "--yes", ...config]);
}

async function runCareOfFiles({ run, add, configFile, file, plant }: SecretWorld): Promise<void> {
  const config = ["--config", configFile];
  const backup = configFile.replace("sandwatch.yaml", "backup.db");
  expect((await run(["backup", backup, ...config])).code).toBe(0);
  add("the backup", readFileSync(backup, "latin1"));
  expect((await run(["backup", backup, ...config])).code).toBe(1);
  expect((await run(["store", "check", backup])).code).toBe(0);
  expect((await run(["store", "check", ...config])).code).toBe(0);
  const noStore = configFile.replace("sandwatch.yaml", file("no-store", plant("no store")));
  for (const from of [noStore, backup]) {
    expect((await run(["restore", from, ...config])).code).toBe(1);
  }
  expect((await run(["store", "check", noStore])).code).toBe(1);
}

describe("a daemon and its commands, with a secret in every place that can hold one", () => {
  it("show none of them, and nothing that a terminal would obey", async () => {
    // With the end-to-end tests, all of it is on PostgreSQL.
    const world = await startWorld(postgresFolder);
    const { add, poll, servers, stop, configFile, run, readStore } = world;
    const events = await followEvents(world);
    await poll(4);
    await callEverything(world);
    await callWithSecrets(world);
    await callWithSecretsInAddresses(world);
    await poll(2);
    await runCommands(world);
    await runActs(world);
    await poll();
    add("the store", await readStore());
    await runCare(world);
    add("the events", await events());
    await stop();
    add("the store after the end", await readStore());
    for (const query of [...queries, ["lookup", "user", "known", "--key", "research"]]) {
      expect((await run([...query, "--config", configFile])).code).toBe(0);
    }
    add("the log", world.log());
    for (const [name, { requests }] of Object.entries(servers)) {
      expect([name, requests.length > 0]).toEqual([name, true]);
      add(`what ${name} received`, JSON.stringify(requests), `${name}:`);
    }

    expect(world.names.length).toBeGreaterThan(120);
    expect([...new Set(world.leaks())]).toEqual([]);

    let pretty = "";
    const write = (line: string): void => void (pretty += line);
    const log = createLogger({ level: "trace", format: "pretty" }, { write });
    for (const line of world.log().trim().split("\n")) log.info(JSON.parse(line));
    for (const { where, text } of [{ where: "sandwatch run", text: pretty }, ...world.outputs]) {
      if (!where.startsWith("sandwatch ")) continue;
      // A line end within a field is part of the format.
      const written = where.includes(" csv ") ? text.replaceAll("\nFAKE LINE", "") : text;
      // Commands may write in colour, but not as a text from outside says.
      const shown = written.replaceAll(/\p{Cc}\[(?:1|22|31|32|33|39)m(?!RED)/gu, "");
      const obeyed = shown.match(/(?!\r?\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|^FAKE LINE/mu);
      expect([where, obeyed && shown.slice(0, obeyed.index)]).toEqual([where, null]);
    }
  });
});
