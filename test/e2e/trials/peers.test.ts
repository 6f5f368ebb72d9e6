import { DatabaseSync } from "node:sqlite";
import { setTimeout } from "node:timers/promises";
import { expect, it } from "vitest";
import { startPeer, startTcpPeer } from "../../service/peer.ts";
import { webhookSecret } from "../../support/webhook-peer.ts";
import { besiege, pollTimeout } from "../support/siege.ts";
import { prepareTrial } from "../support/trial.ts";

it("withstands ten reports over all of a long history at once", async () => {
  const trial = await prepareTrial({ pollTimeout });
  const first = await trial.start();
  first.send("SIGTERM");
  await first.ended;
  writeHistory(trial.store);
  const daemon = await trial.start();
  let done = 0;
  let isEmpty = false;
  await besiege({
    trial,
    daemon,
    isDone: () => done > 0,
    async attack(signal) {
      const reports = Array.from({ length: 10 }, async (_, index) => {
        const query = `from=${60 + index}d&by=server_name,hour&limit=10000`;
        const response = await fetch(`${daemon.address}/api/v1/occupancy?${query}`, { signal });
        const text = await response.text();
        done += 1;
        isEmpty ||= response.status !== 200 || text.length < 1_000_000;
      });
      await Promise.all(reports);
    },
  });
  expect(isEmpty).toBe(false);
});

/** Two hundred and forty days of twenty names, in hours. */
function writeHistory(file: string): void {
  using database = new DatabaseSync(file);
  const stepMs = 60 * 60_000;
  const buckets = 20 * 288;
  const endMs = Math.floor(Date.now() / stepMs) * stepMs;
  const fill = (table: string, values: Readonly<Record<string, string>>, source: string): void => {
    const columns = database
      .prepare(`pragma table_info(${table})`)
      .all()
      .map(({ name }) => String(name));
    const selected = columns.map((name) => values[name] ?? "0");
    database.exec(`with recursive
      steps(n) as (select 1 union all select n + 1 from steps where n < ${buckets}),
      names(name_id) as (select 1000 union all select name_id + 1 from names where name_id < 1019)
      insert into ${table} (${columns.join(", ")}) select ${selected.join(", ")} from ${source}`);
  };
  database.exec("begin");
  fill("counted_values", { id: "name_id", value: "'name-' || name_id" }, "names");
  fill(
    "counted_values",
    { id: "999", value: "''" },
    "(select 1) where not exists (select 1 from counted_values where value = '')",
  );
  const bucket = {
    resolution: "'1h'",
    start_at_ms: `${endMs} - n * ${stepMs}`,
    target_id: "(select min(id) from targets)",
    idle_ms: String(stepMs),
  };
  const times = { ...bucket, recorded_ms: String(stepMs), dwells: "null" };
  const all = "(select id from counted_values where value = '')";
  fill("rollups", { ...times, counted: "'server'", value_id: all }, "steps");
  fill("rollups", { ...times, counted: "'server_name'", value_id: "name_id" }, "steps, names");
  database.exec(
    `update targets set recorded_from_ms = ${endMs} - ${buckets} * ${stepMs}, rolled_up_to_ms = ${endMs}`,
  );
  database.exec("commit");
}

it("withstands receivers and mail servers that answer without end, or never", async () => {
  const chunk = Buffer.alloc(64 * 1_024, "a");
  const endless = await startPeer((request, response) => {
    request.resume();
    if (request.url === "/never") return;
    response.writeHead(request.url === "/refused" ? 500 : 200);
    const send = (): void => {
      while (!response.destroyed && response.write(chunk));
    };
    response.on("drain", send);
    send();
  });
  const moreReceivers = ["/endless", "/refused", "/never"].map((path) => ({
    name: path.slice(1),
    type: "webhook",
    url: `${endless.baseUrl}${path}`,
    secret: webhookSecret,
    group_wait: "0s",
  }));
  let mailConnections = 0;
  const mail = await startTcpPeer((socket) => {
    mailConnections += 1;
    const send = (): void => {
      while (!socket.destroyed && socket.write(chunk));
    };
    socket.on("drain", send);
    send();
  });
  const toMail = {
    type: "email",
    host: "127.0.0.1",
    port: Number(new URL(mail).port),
    tls: "none",
  };
  const trial = await prepareTrial({
    servers: 200,
    pollTimeout,
    moreReceivers: [
      ...moreReceivers,
      { name: "mail", ...toMail, from: "a@example.com", to: ["b@example.com"], group_wait: "0s" },
    ],
  });
  await besiege({
    trial,
    daemon: await trial.start(),
    async attack() {
      for (let server = 1; server < 200; server += 1)
        trial.show(server, server % 2 === 0 ? "error" : "idle");
      await setTimeout(500);
    },
  });
  expect(endless.paths.length).toBeGreaterThan(2);
  expect(mailConnections).toBeGreaterThan(0);
});

it("withstands a service that answers one key without end", async () => {
  const chunk = Buffer.from("x".repeat(64 * 1_024));
  let sent = 0;
  const endless = await startPeer((_, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.write('{"sandboxes":[{"id":"');
    const send = (): void => {
      do sent += chunk.length;
      while (!response.destroyed && response.write(chunk));
    };
    response.on("drain", send);
    send();
  });
  const trial = await prepareTrial({
    pollTimeout,
    moreRegions: { endless: { base_url: endless.baseUrl } },
  });
  await besiege({
    trial,
    daemon: await trial.start(),
    attack: () => setTimeout(500),
  });
  expect(sent).toBeGreaterThan(64 * 2 ** 20);
});
