import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/lib/clock.ts";
import { createSimulator } from "../../src/simulator/simulator.ts";
import { postgresFolder, postgresSettings } from "../store/support/postgres.ts";
import { writeConfig } from "../support/config-file.ts";
import { startSandwatch } from "../support/sandwatch-process.ts";
import { freePort } from "./support/peer-process.ts";
import { until } from "./support/until.ts";
import { queryPostgres } from "../support/query-postgres.ts";

const leaseMs = 5_000;
let schemas = 0;

/** Processes of their own that share a schema on PostgreSQL and poll a simulated service. */
async function openWorld() {
  const simulator = createSimulator({
    seed: 3,
    clock: systemClock,
    regions: ["us"],
    keys: [{ name: "research", apiKey: "simulated-research" }],
    servers: 4,
    rateLimit: null,
    pace: 0,
  });
  const services = await simulator.listen({ host: "127.0.0.1", port: 0 });
  onTestFinished(() => simulator.close());
  const schema = `standby_${process.pid}_${(schemas += 1)}`;
  const { url } = postgresSettings(postgresFolder ?? "", schema);
  const start = async () => {
    const port = await freePort();
    const address = `http://127.0.0.1:${port}`;
    const { config: file } = writeConfig({
      regions: { us: { base_url: services.get("us") } },
      keys: [{ name: "research", api_key: "simulated-research" }],
      poll: { every: "1s", rate_limit: { requests: 100, per: "1s" } },
      store: { postgres: { url: url.reveal(), schema } },
      cluster: { address, lease: `${leaseMs}ms`, allow_http: true },
      http: {
        listen: `127.0.0.1:${port}`,
        auth: {
          tokens: [{ name: "ann", role: "admin", token: "0123456789abcdef0123456789abcdef" }],
        },
      },
      log: { format: "json" },
    });
    const program = startSandwatch(["run", "--config", file]);
    const get = (path: string, headers: Readonly<Record<string, string>> = {}, body?: object) =>
      fetch(address + path, {
        headers: { authorization: "Bearer 0123456789abcdef0123456789abcdef", ...headers },
        ...(body && { method: "POST", body: JSON.stringify(body) }),
      });
    const isActive = async () => /^sandwatch_active 1$/m.test(await (await get("/metrics")).text());
    return { address, program, get, isActive };
  };
  const first = await start();
  await until("the first is active", first.isActive);
  const second = await start();
  await second.program.line("process.standing_by");
  return { first, second, schema };
}

const execute = (statement: string) => queryPostgres(postgresFolder ?? "", statement);

it("a standby answers for itself and passes everything else on to the active process", async () => {
  const { first, second } = await openWorld();
  const ready = await second.get("/-/ready");
  expect([ready.status, await ready.text()]).toEqual([
    200,
    expect.stringMatching(`^ready: this process stands by. ${first.address} has been active since`),
  ]);
  expect((await second.get("/-/healthy")).status).toBe(200);
  const metrics = await (await second.get("/metrics")).text();
  expect(metrics).toMatch(/^sandwatch_active 0$/m);
  expect(metrics).toMatch(/^process_cpu_seconds_total /m);
  expect(metrics).not.toMatch(/^sandbox_/m);

  const status: unknown = await (await second.get("/api/v1/status")).json();
  expect(status).toMatchObject({
    processes: [
      { address: first.address, active: true, live: true },
      { address: second.address, active: false, live: true },
    ],
  });
  expect(await (await second.get("/")).text()).toMatch(/is active since/);
  const silence = { match: { region: "us" }, reason: "r", duration: "1h" };
  const json = { "content-type": "application/json" };
  const added = await second.get("/api/v1/silences", json, silence);
  expect([added.status, await added.json()]).toMatchObject([201, { author: "ann" }]);
  const denied = await second.get("/api/v1/targets", { authorization: "Bearer x" });
  expect(denied.status).toBe(401);
  const stream = await second.get("/api/v1/events");
  expect(stream.headers.get("content-type")).toBe("text/event-stream");
  const { value } = (await stream.body?.getReader().read()) ?? {};
  expect(new TextDecoder().decode(value)).toMatch(/^retry: /);

  const foreign = await second.get("/-/reload", { authorization: "Bearer x" }, {});
  expect(foreign.status).toBe(401);
  expect((await second.get("/-/reload", {}, {})).status).toBe(200);
  await second.program.lines("process.standing_by", 2);
  expect(await first.isActive()).toBe(true);
});

it("a standby takes over at once when the active process is killed or stops", async () => {
  const { first, second } = await openWorld();
  const killedMs = performance.now();
  first.program.send("SIGKILL");
  await second.program.line("process.active");
  expect(performance.now() - killedMs).toBeLessThan(leaseMs);
  await until("the second is active", second.isActive);
  const { get } = second;
  const targets = await (await get("/api/v1/targets")).json();
  expect(targets).toMatchObject({ targets: [{ up: expect.anything() }] });
  second.program.send("SIGTERM");
  expect(await second.program.ended).toMatchObject({ code: 0 });
});

it("a standby ends the session of an active process that is frozen, which then stands by", async () => {
  const { first, second, schema } = await openWorld();
  first.program.send("SIGSTOP");
  const frozenMs = performance.now();
  await second.program.line("process.active");
  expect(performance.now() - frozenMs).toBeGreaterThan(leaseMs / 2);
  const refused = await second.get("/api/v1/targets");
  expect(refused.status).toBeLessThan(504);
  first.program.send("SIGCONT");
  await first.program.line("store.lost");
  await first.program.lines("process.standing_by", 1);
  await until("the first stands by", async () =>
    (await (await first.get("/-/ready")).text()).includes("stands by"),
  );
  const [{ sessions }] = await execute(
    `select count(*)::int as sessions from ${schema}.processes where seen_at_ms + lease_ms > extract(epoch from now()) * 1000`,
  );
  expect(sessions).toBe(2);
});
