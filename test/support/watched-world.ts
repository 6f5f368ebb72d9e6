import { cleanUp } from "./share.ts";
import type { Config } from "../../src/config/config.ts";
import { createDaemon, type Daemon } from "../../src/app/daemon.ts";
import type { DaemonOverrides } from "../../src/app/daemon-overrides.ts";
import type { Target } from "../../src/fleet/model.ts";
import { seededRandom } from "../../src/lib/random.ts";
import type { Fault } from "../../src/simulator/faults.ts";
import type { OpenOptions } from "../../src/store/sqlite/database.ts";
import { openStore, type Store } from "../../src/store/store.ts";
import { createSimulator } from "../../src/simulator/simulator.ts";
import type { Manner } from "../../src/simulator/world.ts";
import { captureLog, type Line } from "./capture-log.ts";
import { createFakeClock, type FakeClock } from "./fake-clock.ts";
import { freshStoreFile } from "./fresh-store.ts";
import { testConfig } from "./test-config.ts";
import { startWebhookPeer, webhookSecret, type Alert, type WebhookPeer } from "./webhook-peer.ts";

/** The key of the simulated service: wherever it shows up, a secret leaked. */
export const apiKey = "simulated-T0PSECRET";

/** The whole daemon between a simulated service and a real receiver, on a clock of the test's. */
export interface WatchedWorld {
  readonly clock: FakeClock;
  readonly target: Target;
  readonly peer: WebhookPeer;
  readonly alerts: readonly Alert[];
  readonly log: readonly Line[];
  readonly config: Config;
  /** The ids of the target's servers, in the listing's order. */
  readonly serverIds: readonly string[];
  daemon(): Daemon;
  /** From now on the server, by its place or its id, shows this status; `absent` is not listed. */
  show(server: number | string, status: string): void;
  fail(...faults: Fault[]): void;
  /** Lets five seconds pass, polls every target once and delivers what is due. */
  poll(times?: number): Promise<void>;
  /** Stops and starts again on the same store, with some settings changed if so wished. */
  restart(changed?: {
    /** Those of the keys that stay. */
    readonly keys?: readonly string[];
    readonly alerts?: object;
    readonly probes?: readonly object[];
    readonly reports?: readonly object[];
  }): Promise<void>;
  /** Where the daemon serves, started to serve if it did not yet. */
  address(): Promise<string>;
  /** Scrapes, over HTTP. */
  metrics(): Promise<string>;
}

export interface WorldOptions {
  /** When the world begins. UTC milliseconds. */
  readonly startsAtMs?: number;
  /** Of all of these the servers are watched; `show` shows those of the first key in the first region. */
  readonly regions?: readonly string[];
  readonly keys?: readonly string[];
  /** The labels of keys, by their names. */
  readonly labels?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Settings of polls; `every` and a limit are there unless these say otherwise. */
  readonly poll?: object;
  /** Beside what the world replaces itself. */
  readonly overrides?: Pick<DaemonOverrides, "createDispatcher" | "newIncidentId" | "newSilenceId">;
  /** How often is polled at least: what passes beyond that is not watched. */
  readonly every?: string;
  readonly servers?: number;
  /** How fast statuses move by themselves. Default: servers are idle until `show` says otherwise. */
  readonly pace?: number;
  /** Who states statuses. Default: servers alone. */
  readonly manners?: readonly Manner[];
  readonly alerts?: object;
  /** Settings of the receiver beside its address and secret. */
  readonly receiver?: object;
  readonly metrics?: object;
  /** Settings of the HTTP server beside its address. */
  readonly http?: object;
  /** With these the key has no limit that matters: time stands still while they run. */
  readonly probes?: readonly object[];
  readonly reports?: readonly object[];
  /** Puts something between the daemon and its store. */
  readonly wrapStore?: (store: Store) => Store;
  /** Stands in for the usual opening of the store. */
  readonly openStore?: (path: string, observers: OpenOptions) => Store | Promise<Store>;
  /** Stands in for the simulated service. */
  readonly baseUrl?: string;
}

export async function watchWorld(options: WorldOptions = {}): Promise<WatchedWorld> {
  const clock = createFakeClock(options.startsAtMs);
  const { regions = ["us"], keys: names = ["research"] } = options;
  const target: Target = { region: regions[0] ?? "", key: names[0] ?? "" };
  const keys = names.map((name, index) => ({
    name,
    apiKey: index === 0 ? apiKey : `${apiKey}-${index}`,
  }));
  const simulator = createSimulator({
    seed: 3,
    clock,
    regions,
    keys,
    servers: options.servers ?? 3,
    pace: options.pace ?? 0,
    manners: options.manners ?? ["silent"],
    ...(options.probes && { rateLimit: null }),
  });
  const services = await simulator.listen({ host: "127.0.0.1", port: 0 });
  cleanUp(() => simulator.close());
  const serverIds = Array.from(
    simulator.truth(target, clock.now().utcMs),
    ({ serverId }) => serverId,
  );
  const show = (server: number | string, status: string): void => {
    const id = typeof server === "string" ? server : (serverIds[server] ?? "");
    simulator.pin(target, id, status);
  };
  if (options.pace === undefined) for (const index of serverIds.keys()) show(index, "idle");

  const peer = await startWebhookPeer();
  const settings = {
    regions: Object.fromEntries(
      regions.map((region) => [region, { base_url: options.baseUrl ?? services.get(region) }]),
    ),
    keys: keys.map(({ name, apiKey: api_key }) => {
      const labels = options.labels?.[name];
      return { name, api_key, ...(labels && { labels }) };
    }),
    poll: {
      ...(options.poll ?? { every: options.every ?? "5s" }),
      ...(options.probes && { rate_limit: { requests: 1_000, per: "1s" } }),
    },
    ...(options.probes && { probes: options.probes }),
    reports: options.reports ?? [],
    store: { path: freshStoreFile() },
    http: { listen: "127.0.0.1:0", ...options.http },
    metrics: options.metrics ?? {},
    alerts: {
      receivers: [
        {
          name: "oncall",
          type: "webhook",
          url: peer.url,
          secret: webhookSecret,
          group_wait: "0s",
          ...options.receiver,
        },
      ],
      ...options.alerts,
    },
  };
  let config = testConfig(settings);

  const { lines, log } = captureLog();
  const open = (): Promise<Daemon> =>
    createDaemon(config, {
      ...options.overrides,
      clock,
      wakeAt: (utcMs, onDue) => clock.setTimer(utcMs - clock.now().utcMs, onDue),
      random: seededRandom(5),
      log,
      async openStore(path, _, observers) {
        const store = await (options.openStore ?? openTemporary)(path, observers);
        return options.wrapStore?.(store) ?? store;
      },
    });
  let daemon = await open();
  let address: string | undefined;
  cleanUp(() => daemon.stop());

  const serve = async (): Promise<string> => (address ??= await daemon.serve());

  return {
    clock,
    target,
    peer,
    alerts: peer.alerts,
    log: lines,
    get config() {
      return config;
    },
    serverIds,
    daemon: () => daemon,
    show,
    fail: (...faults) => simulator.setFaults(faults),
    async poll(times = 1) {
      for (let time = 0; time < times; time += 1) {
        clock.advance(5_000);
        await daemon.runOnce();
      }
    },
    async restart(changed = {}) {
      await daemon.stop();
      config = testConfig({
        ...settings,
        ...(changed.keys && {
          keys: settings.keys.filter(({ name }) => changed.keys?.includes(name)),
        }),
        ...(changed.probes && { probes: changed.probes }),
        ...(changed.reports && { reports: changed.reports }),
        alerts: { ...settings.alerts, ...changed.alerts },
      });
      address = undefined;
      daemon = await open();
    },
    address: serve,
    async metrics() {
      const response = await fetch(`${await serve()}/metrics`);
      return response.text();
    },
  };
}

/** No test crashes the machine, so none need wait for its disk. */
function openTemporary(path: string, observers: OpenOptions): Store {
  return openStore(path, undefined, { ...observers, isTemporary: true });
}
