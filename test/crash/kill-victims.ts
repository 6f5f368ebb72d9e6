import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { Target } from "../../src/fleet/model.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { createSimulator } from "../../src/simulator/simulator.ts";
import { compileCache, programOf } from "../support/sandwatch-process.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { startReceiverServer, status as answerOf } from "../notify/support/receiver-server.ts";
import { startWebhookPeer, webhookSecret, type Alert } from "../support/webhook-peer.ts";
import type { Order, VictimSettings } from "./victim.ts";

export interface Killings {
  /** What the receiver got from all the victims, in order. */
  readonly alerts: readonly Alert[];
  readonly refused: readonly string[];
  /** How often the server went into error. */
  readonly episodes: number;
  /** At how many different statements a victim was killed while it notified of an error. */
  readonly killedAtStatements: number;
}

const target: Target = { region: "us", key: "research" };

/** Nothing happens to the servers of the second: its polls share the transactions of the first. */
const keyNames = ["research", "quiet"];

const login = { name: "login", operation: "user", id: "user-1", keys: ["research"] };
const probeFailing = { name: "probe-failing", on: "probe", failing: { polls: 1 } };
/** Without a limit for flapping: each episode is an incident of its own. */
const statusRules = ["server", "sandbox"].map((on) => ({
  name: `${on}-error`,
  on,
  status: "error",
}));
const unknownUser = { kind: "status", status: 404, operation: "get_user" } as const;

/**
 * Lets a server or a sandbox go into error and out of it again and again, or a probe fail and work. Each time the daemon is killed
 * later by a statement or more in what it does about it, and another one takes over on the same store, until a
 * victim gets through both ways without having reached the statement. The last one is left in peace.
 */
export async function killVictims(
  signal: AbortSignal,
  options: {
    /** `both`: a server and its sandbox. Default: the server. */
    readonly subject?: "server" | "sandbox" | "both" | "probe";
    readonly outboxOutside?: boolean;
    /** The folder of the socket of a PostgreSQL. Default: an SQLite file. */
    readonly postgres?: string;
    readonly firstStatement?: number;
    /** Default: as many as there are. */
    readonly lastStatement?: number;
    /** 3: at every third statement. */
    readonly every?: number;
  } = {},
): Promise<Killings> {
  const simulator = createSimulator({
    seed: 3,
    clock: systemClock,
    regions: ["us"],
    keys: keyNames.map((name) => ({ name, apiKey: `simulated-${name}` })),
    servers: 2,
    pace: 0,
    rateLimit: null,
  });
  const services = await simulator.listen({ host: "127.0.0.1", port: 0 });
  onTestFinished(() => simulator.close());
  const peer = await startWebhookPeer();
  const { subject = "server" } = options;
  const sandboxesOf = (key: string) => [...simulator.sandboxes({ ...target, key }, 0)];
  for (const key of keyNames) {
    for (const { sandboxId, servers } of sandboxesOf(key)) {
      for (const id of [sandboxId, ...servers.map(({ serverId }) => serverId)]) {
        simulator.pin({ ...target, key }, id, "idle");
      }
    }
  }
  const [first] = sandboxesOf(target.key);
  const [sandboxId, serverId] = [first?.sandboxId ?? "", first?.servers[0]?.serverId ?? ""];
  const watched = { server: [serverId], sandbox: [sandboxId], both: [sandboxId, serverId] };
  const show = (status: "error" | "idle"): void => {
    if (subject === "probe") simulator.setFaults(status === "error" ? [unknownUser] : []);
    else for (const id of watched[subject]) simulator.pin(target, id, status);
  };

  const store = storeIn(options.postgres);
  const settings: VictimSettings = {
    settings: {
      regions: { us: { base_url: services.get("us") } },
      keys: keyNames.map((name) => ({ name, api_key: `simulated-${name}` })),
      poll: { every: "1h", rate_limit: { requests: 1_000, per: "1s" } },
      store,
      ...(subject === "probe" && { probes: [login] }),
      alerts: {
        rules: subject === "probe" ? [probeFailing] : statusRules,
        receivers: [
          {
            name: "oncall",
            type: "webhook",
            url: peer.url,
            secret: webhookSecret,
            group_wait: "0s",
          },
        ],
      },
    },
    outboxOutside: options.outboxOutside ?? false,
  };

  let episodes = 0;
  let killedAtStatements = 0;
  const { lastStatement = Infinity } = options;
  let statement = options.firstStatement ?? 1;
  let survivedError = false;
  let next = spawnVictim(settings);
  for (let victims = 0; victims < 500; victims += 1) {
    const victim = next;
    // The one after it is loaded meanwhile; it opens the store only when it is asked to.
    next = spawnVictim(settings);
    signal.throwIfAborted();
    await victim.open();
    const toError = victims % 2 === 0;
    if (toError) episodes += 1;
    const killed = victim.killAt(statement);
    show(toError ? "error" : "idle");
    const survived = await killed;
    if (survived && !toError && survivedError) break;
    survivedError = toError && survived;
    if (toError && !survived) killedAtStatements += 1;
    if (toError) continue;
    statement += options.every ?? 1;
    if (statement > lastStatement) break;
  }
  await next.open();
  const survived = next.killAt(Number.MAX_SAFE_INTEGER);
  show("idle");
  await survived;
  return { alerts: peer.alerts, refused: peer.refused, episodes, killedAtStatements };
}

let schemas = 0;

interface StoreSettings {
  readonly path?: string;
  readonly postgres?: { readonly url: string; readonly schema: string };
}

function storeIn(postgres: string | undefined): StoreSettings {
  if (postgres === undefined) return { path: join(tempFolder(), "sandwatch.db") };
  const url = `postgresql:///postgres?user=test&host=${encodeURIComponent(postgres)}`;
  return { postgres: { url, schema: `crash_${process.pid}_${(schemas += 1)}` } };
}

/** What went wrong: one line for each promise that was broken. */
export function brokenPromises({ alerts, refused, episodes }: Killings): readonly string[] {
  const faults = refused.map((reason) => `refused: ${reason}`);
  const byIncident = Map.groupBy(alerts, ({ data }) => data.incidents[0]?.id ?? "none");
  if (byIncident.size !== episodes) {
    faults.push(`${episodes} episodes, ${byIncident.size} incidents`);
  }
  for (const [id, own] of byIncident) {
    const types = own.map(({ type }) => type.replace("incident.", ""));
    if (!/^(firing )+(resolved )+$/.test(types.map((type) => `${type} `).join(""))) {
      faults.push(`${id}: not fired and then resolved: ${types.join()}`);
    }
    for (const [type, some] of Map.groupBy(own, (each) => each.type)) {
      const ids = new Set(some.map(({ webhookId }) => webhookId));
      if (ids.size > 1) faults.push(`${id}: ${type} under several ids`);
    }
  }
  return faults;
}

const hourMs = 3_600_000;

/**
 * Makes a report due again and again, by a clock that is set an hour ahead each time, and kills the daemon later by a
 * statement in what it does then, until one gets through.
 *
 * @returns how often it was due, and the ids under which the receiver got the report of each time
 */
export async function killReporters(signal: AbortSignal) {
  const peer = await startWebhookPeer();
  // Polls fail at once.
  const service = await startReceiverServer(answerOf(404));
  const oncall = { name: "oncall", type: "webhook", url: peer.url, secret: webhookSecret };
  const settings: VictimSettings = {
    settings: {
      regions: { us: { base_url: service.origin } },
      keys: [{ name: "research", api_key: "k1" }],
      store: { path: join(tempFolder(), "sandwatch.db") },
      alerts: { rules: [], receivers: [oncall] },
      reports: [{ name: "hourly", schedule: "0 * * * *", range: "1h", receivers: ["oncall"] }],
    },
    outboxOutside: false,
  };
  // So that it is half past while a daemon runs, however long the test takes within reason.
  let aheadMs = hourMs / 2 - (Date.now() % hourMs);
  let times = 0;
  for (let next = spawnVictim(settings), survived = false; !survived;) {
    const victim = next;
    next = spawnVictim(settings);
    signal.throwIfAborted();
    await victim.open(aheadMs);
    aheadMs += hourMs;
    times += 1;
    survived = await victim.killAt(times, aheadMs);
    if (survived) await next.open(aheadMs);
  }
  const byTime = Map.groupBy(peer.alerts, ({ data }) => data.report?.to);
  const ids = Array.from(byTime.values(), (some) => new Set(some.map((each) => each.webhookId)));
  return { times, ids, refused: peer.refused };
}

interface Victim {
  /** Lets it start on the store; resolves when it has caught up with the world as it is. */
  open(aheadMs?: number, acknowledgeForMs?: number): Promise<void>;
  /** Lets it poll again; whether it got through. It is dead afterwards in any case. */
  killAt(statement: number, aheadMs?: number, acknowledgeForMs?: number): Promise<boolean>;
}

export function spawnVictim(settings: VictimSettings): Victim {
  const child = fork(programOf("victim"), [JSON.stringify(settings)], {
    execArgv: [],
    env: { ...process.env, NODE_COMPILE_CACHE: compileCache },
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const exited = once(child, "exit");
  return {
    async open(aheadMs = 0, acknowledgeForMs?: number) {
      child.send({ aheadMs, acknowledgeForMs } satisfies Order);
      const first = await Promise.race([once(child, "message"), exited]);
      if (first[0] !== "done") throw new Error(`a victim died early: ${String(first)}`);
    },
    async killAt(killAtStatement, aheadMs = 0, acknowledgeForMs?: number) {
      const order: Order = { killAtStatement, aheadMs, acknowledgeForMs };
      const next = Promise.race([once(child, "message"), exited]);
      child.send(order);
      const survived = (await next)[0] === "done";
      child.kill("SIGKILL");
      await exited;
      return survived;
    },
  };
}
