import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { fastify } from "fastify";
import type { FastifyInstance } from "fastify";
import { Webhook } from "standardwebhooks";
import { z } from "zod";
import { createDaemon } from "../app/daemon.ts";
import { formatFaults } from "../config/faults.ts";
import type { Config } from "../config/config.ts";
import { parseConfig } from "../config/load-config.ts";
import { systemClock } from "../lib/clock.ts";
import { hostToListen, localAddress } from "../lib/listen-address.ts";
import { createLogger } from "../lib/logger.ts";
import type { Target } from "../fleet/model.ts";
import { createSimulator, type Simulator } from "../simulator/simulator.ts";
import { growingLoad, tempoOf } from "../simulator/server-status.ts";
import { createWorld, variedManners } from "../simulator/world.ts";
import { wrongUse } from "./exit-codes.ts";
import { makeHistory } from "./demo-history.ts";
import { asListenFault, readPort, seedOption, wholeNumber } from "./options.ts";
import { faultsOption, readFaults, simulatedKeys } from "./simulate.ts";
import type { Terminal } from "./terminal.ts";
import { untilStopped } from "./signals.ts";

interface DemoOptions {
  readonly seed: number;
  readonly servers: number;
  readonly keys: number;
  /** In days; false: none. */
  readonly history: number | false;
  readonly faults?: string;
  readonly host: string;
  readonly port?: number;
}

const regions = ["us", "eu"];
const usualPort = 9740;
const pollEvery = "5s";
/** What a person types. In a checkout npm runs `sandwatch`. */
const sandwatch = import.meta.filename.endsWith(".ts")
  ? "npm run --silent sandwatch --"
  : "sandwatch";
/** Statuses change this much faster than usual, so that there is something to see. */
const pace = 4;
/** In the past they are polled rarely, so they change slower. */
const pastPace = 1 / 8;
/** More servers are occupied from week to week, so that there is a forecast. */
const loadNow = 1.7;
const loadPerWeek = 0.13;

/** What each expects holds in every simulated region. */
const probes = [
  { name: "login", operation: "user", id: "user-1", expect: { fields: { userId: "user-1" } } },
  { name: "worlds", operation: "universes", expect: { at_least: 3 } },
  {
    name: "suspended-brand",
    operation: "white-label",
    id: "client-suspended",
    expect: { success: false },
  },
].map((probe) => ({ ...probe, every: "30s" }));

export function addDemo(program: Command, terminal: Terminal): void {
  program
    .command("demo")
    .description("run a simulated service, the daemon and a webhook receiver")
    .addOption(seedOption())
    .option("--servers <n>", "servers in total", wholeNumber(1), 60)
    .option("--keys <n>", "number of API keys", wholeNumber(1), 2)
    .option("--history <days>", "days of simulated history to start with", wholeNumber(0, 365), 28)
    .option("--no-history", "start with an empty store")
    .addOption(faultsOption())
    .option(
      "--host <address>",
      "address of the HTTP server; 0.0.0.0 for every interface, as in a container",
      "127.0.0.1",
    )
    .option("--port <port>", "port of the HTTP server (default: 9740, or a free port)", readPort)
    .action((options: DemoOptions) => demo(options, terminal));
}

/** Runs until a signal ends it. Nothing is kept. */
async function demo(options: DemoOptions, terminal: Terminal): Promise<void> {
  const stopped = untilStopped();
  await using opened = new AsyncDisposableStack();

  const folder = await mkdtemp(join(tmpdir(), "sandwatch-demo-"));
  opened.defer(() => rm(folder, { recursive: true }));

  const keys = simulatedKeys(options.keys);
  const targets = regions.length * keys.length;
  const servers = Math.ceil(options.servers / targets);
  const { seed } = options;
  const faults = readFaults(options.faults);
  const tempo = tempoOf(pastPace, systemClock.now().utcMs, pace);
  const load = growingLoad(systemClock.now().utcMs, loadNow, loadPerWeek);
  const simulator = createSimulator({
    seed,
    clock: systemClock,
    regions,
    keys,
    servers,
    pace: tempo,
    load,
    faults,
    manners: variedManners,
  });
  const services = await simulator.listen({ host: "127.0.0.1", port: 0 });
  opened.defer(() => simulator.close());

  const secret = `whsec_${randomBytes(32).toString("base64")}`;
  const receiver = createReceiver(secret, terminal);
  const receiverUrl = await receiver.listen({ host: "127.0.0.1", port: 0 });
  opened.defer(() => receiver.close());

  const parsed = parseConfig({
    regions: Object.fromEntries(Array.from(services, ([name, url]) => [name, { base_url: url }])),
    keys: keys.map(({ name, apiKey }) => ({ name, api_key: apiKey })),
    poll: { every: pollEvery },
    probes,
    store: { path: join(folder, "sandwatch.db") },
    http: await httpSettings(options),
    log: { format: "pretty" },
    alerts: {
      receivers: [{ name: "demo", type: "webhook", url: receiverUrl, secret, group_wait: "1s" }],
    },
  });
  if (parsed.kind !== "ok")
    throw wrongUse(formatFaults("The configuration of the demo", parsed.faults));
  const { config } = parsed;
  terminal.out(`sandwatch demo: ${targets} targets of a simulated service. Ctrl-C stops it.\n\n`);
  if (options.history) {
    const { history: days } = options;
    await using waiting = new AsyncDisposableStack();
    waiting.use(await serveWaitingPage(config.http));
    const address = localAddress(config.http);
    terminal.out(`making ${days} days of simulated history; status page then: ${address}/\n\n`);
    const stopping = new AbortController();
    void stopped.then(() => stopping.abort());
    const world = createWorld(seed, tempo, load, variedManners);
    await makeHistory({ config, seed, world, servers, days }, stopping.signal);
    if (stopping.signal.aborted) return;
  }
  showError(simulator, { region: regions[0] ?? "", key: keys[0]?.name ?? "" });
  const log = createLogger(config.log);
  const daemon = await createDaemon(config, { log });
  opened.defer(() => daemon.stop());

  const address = await daemon.start().catch(refuseAddress);
  terminal.out(describe(address, services));
  await stopped;
  terminal.out("\nstopping\n");
}

/** From now on a sandbox of the target states that it is in error, though no server of it is. */
function showError(simulator: Simulator, target: Target): void {
  for (const { sandboxId, servers } of simulator.sandboxes(target, systemClock.now().utcMs)) {
    if (!servers.some(({ status }) => status === "idle" || status === "occupied")) continue;
    if (servers.some(({ status }) => status === "error")) continue;
    return simulator.pin(target, sandboxId, "error");
  }
}

/** The part of a message that is shown. */
const messageSchema = z.object({
  type: z.string(),
  data: z.object({ severity: z.string(), summary: z.string() }),
});

/** A receiver as a user would write one: it verifies the signature and shows one line per alert. */
function createReceiver(secret: string, terminal: Terminal): FastifyInstance {
  const webhook = new Webhook(secret);
  const server = fastify({ forceCloseConnections: true });
  server.addContentTypeParser("application/json", { parseAs: "string" }, (_request, body, done) =>
    done(null, body),
  );
  server.post("/", async ({ body, headers }, reply) => {
    const names = ["webhook-id", "webhook-timestamp", "webhook-signature"];
    const signed = Object.fromEntries(names.map((name) => [name, String(headers[name])]));
    const { type, data } = messageSchema.parse(webhook.verify(String(body), signed));
    const kind = type.replace("incident.", "").toUpperCase();
    terminal.out(`>>> ${kind} (${data.severity}) ${data.summary}\n`);
    return reply.code(204).send();
  });
  return server;
}

function describe(address: string, services: ReadonlyMap<string, string>): string {
  const lines = [
    `  status page       ${address}/`,
    `  metrics           ${address}/metrics`,
    `  health            ${address}/-/healthy  ${address}/-/ready`,
    ...Array.from(services, ([name, url]) => `  service in ${name}     ${url}`),
    "",
    `Every target is polled every ${pollEvery}. Changes are logged below. Lines with >>> are`,
    "alerts that a webhook receiver got, with verified signatures. In another terminal:",
    "",
    `  ${sandwatch} status --url ${address}`,
    `  ${sandwatch} report --from 28d --by weekday --url ${address}`,
    `  ${sandwatch} insights --by region,key --url ${address}`,
    `  ${sandwatch} incidents --state firing --url ${address}`,
    `  ${sandwatch} probes --url ${address}`,
    `  ${sandwatch} lookup user user-1 --region us --key research --url ${address}`,
    `  ${sandwatch} ack INCIDENT --author me --url ${address}`,
    `  ${sandwatch} silence add --region us --for 5m --author me --reason trying --url ${address}`,
    "",
  ];
  return `${lines.join("\n")}\n`;
}

/** Answers until the daemon does. A browser asks again by itself. */
async function serveWaitingPage({ host, port }: Config["http"]) {
  const server = fastify({ forceCloseConnections: true });
  server.all("/*", (_request, reply) =>
    reply
      .code(503)
      .headers({ "retry-after": "1", refresh: "1", "content-type": "text/plain; charset=utf-8" })
      .send("sandwatch is making the history of the demo. This page reloads by itself.\n"),
  );
  await server.listen({ host: hostToListen(host), port }).catch(refuseAddress);
  return { [Symbol.asyncDispose]: () => server.close() };
}

function refuseAddress(error: unknown): never {
  throw asListenFault(error, "--host/--port");
}

/** There is nothing but simulated data, so anyone who reaches it may do everything. */
async function httpSettings({ host, port }: DemoOptions): Promise<object> {
  const at = host.includes(":") ? `[${host}]` : host;
  const free = await freePort(host, port ?? usualPort);
  return { listen: `${at}:${free ?? port ?? (await freePort(host, 0)) ?? 0}`, auth: "none" };
}

/** Null: the port is in use. @param port 0: any one */
async function freePort(host: string, port: number): Promise<number | null> {
  const probe = createServer().listen(port, host);
  const address = await once(probe, "listening").then(
    () => probe.address(),
    () => null,
  );
  probe.close();
  return address === null || typeof address === "string" ? null : address.port;
}
