import { setImmediate as settle } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { Agent } from "undici";
import type { Dispatcher } from "undici";
import { openStore } from "../../src/store/store.ts";
import type { Store } from "../../src/store/store.ts";
import { startReceiverServer, status } from "../notify/support/receiver-server.ts";
import { watchWorld } from "../support/watched-world.ts";
import { webhookSecret } from "../support/webhook-peer.ts";

type Pass = <T>(call: () => Promise<T>) => Promise<T>;

/** Each loop, how far apart its runs usually are, and what of the store it can hang on. */
const loops: readonly [
  loop: string,
  intervalSeconds: number,
  hang: (store: Store, pass: Pass) => Partial<Store>,
][] = [
  [
    "polls",
    10,
    (store, pass) => ({ commitPoll: (...poll) => pass(() => store.commitPoll(...poll)) }),
  ],
  [
    "probes",
    20,
    ({ probes }, pass) => ({
      probes: { ...probes, commitRun: (...run) => pass(() => probes.commitRun(...run)) },
    }),
  ],
  [
    "deliveries",
    30,
    ({ outbox }, pass) => ({
      outbox: { ...outbox, ready: (...of) => pass(() => outbox.ready(...of)) },
    }),
  ],
  [
    // Alerts are posted again to Alertmanager each minute.
    "deliveries",
    60,
    ({ notified }, pass) => ({
      notified: { ...notified, notifiedTo: (...of) => pass(() => notified.notifiedTo(...of)) },
    }),
  ],
  ["upkeep", 60, ({ rollUp }, pass) => ({ rollUp: (...of) => pass(() => rollUp(...of)) })],
];

/** A started daemon of which a part of the store hangs while it is held. */
async function start(hang: (store: Store, pass: Pass) => Partial<Store>) {
  const heartbeats = await startReceiverServer(status(200));
  const oncall = await startReceiverServer(status(200));
  let held: PromiseWithResolvers<void> | null = null;
  const release = (): void => {
    held?.resolve();
    held = null;
  };
  const pass: Pass = async (call) => {
    await held?.promise;
    return call();
  };
  const calls = { sent: 0, committed: 0 };
  class CountingAgent extends Agent {
    override dispatch(
      request: Dispatcher.DispatchOptions,
      handler: Dispatcher.DispatchHandler,
    ): boolean {
      if (/\/(?:local-sandbox|user)/.test(request.path)) calls.sent += 1;
      return super.dispatch(request, handler);
    }
  }
  const world = await watchWorld({
    poll: { every: "10s" },
    probes: [{ name: "login", operation: "user", id: "user-1", every: "20s" }],
    alerts: {
      receivers: [
        { name: "oncall", type: "webhook", url: oncall.url.reveal(), secret: webhookSecret },
        { name: "am", type: "alertmanager", urls: [oncall.origin], allow_http: true },
        { name: "watchdog", type: "heartbeat", url: heartbeats.url.reveal(), every: "30s" },
      ],
    },
    overrides: { createDispatcher: () => new CountingAgent() },
    openStore(path) {
      const opened = openStore(path, undefined, { isTemporary: true });
      const store = { ...opened, ...hang(opened, pass) };
      const count = <T>(call: Promise<T>): Promise<T> => ((calls.committed += 1), call);
      return {
        ...store,
        commitPoll: (...poll) => count(store.commitPoll(...poll)),
        probes: { ...store.probes, commitRun: (...run) => count(store.probes.commitRun(...run)) },
      };
    },
  });
  onTestFinished(release);
  const settled = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn += 1) await settle();
    while (calls.committed < calls.sent) await settle();
  };
  const address = await world.address();
  world.daemon().watch();
  await settled();
  return {
    world,
    heartbeats,
    hold: (): void => void (held = Promise.withResolvers()),
    release,
    pass: async (seconds: number): Promise<void> => {
      for (let passed = 0; passed < seconds; passed += 1) {
        world.clock.advance(1_000);
        await settled();
      }
    },
    /** What was logged of loops. */
    events: () =>
      world.log
        .filter(({ event }) => event?.startsWith("loop."))
        .map((line) => `${String(line["loop"])} ${line.event}`),
    asks: async (path: string): Promise<string> => {
      const response = await fetch(`${address}${path}`);
      return `${response.status} ${await response.text()}`;
    },
  };
}

it.each(loops)(
  "a loop that falls silent is logged, shown, and stops readiness, heartbeats and at last health, until it runs again: %s, usually every %d s",
  async (loop, interval, hang) => {
    const { world, heartbeats, hold, release, pass, events, asks } = await start(hang);
    await pass(130);
    expect([events(), await asks("/-/ready")]).toEqual([[], "200 ready\n"]);
    await heartbeats.received(4);

    hold();
    await pass(3 * interval + 1);
    expect(events()).toContain(`${loop} loop.silent`);
    const silent = new RegExp(`^503 .*loop ${loop} is silent`, "s");
    expect(await asks("/-/ready")).toMatch(silent);
    expect(await asks("/-/healthy")).toBe("200 ok\n");
    const metrics = await world.metrics();
    const runOf = (which: string): number => {
      const family = `sandwatch_loop_${which}_turn_timestamp_seconds`;
      return Number(new RegExp(`^${family}\\{loop="${loop}"\\} (\\S+)$`, "m").exec(metrics)?.[1]);
    };
    expect(world.clock.now().utcMs / 1_000 - runOf("last")).toBeGreaterThan(2 * interval);
    expect(runOf("next")).toBeCloseTo(runOf("last") + interval);
    expect(metrics).toContain(`sandwatch_loop_interval_seconds{loop="${loop}"} ${interval}`);

    const beats = heartbeats.requests.length;
    await pass(8 * interval);
    expect(heartbeats.requests).toHaveLength(beats);
    expect(world.log.map(({ event }) => event)).toContain("heartbeat.withheld");
    expect(await asks("/-/healthy")).toMatch(silent);

    release();
    await pass(61);
    const ofLoop = events().filter((line) => line.startsWith(loop));
    expect(ofLoop).toEqual([`${loop} loop.silent`, `${loop} loop.recovered`]);
    expect(await asks("/-/ready")).toBe("200 ready\n");
    expect(await asks("/-/healthy")).toBe("200 ok\n");
    await heartbeats.received(beats + 1);
  },
);

it("loops are not silent for being stopped, however long the last delivery takes", async () => {
  const world = await watchWorld({ poll: { every: "1s", timeout: "1s" } });
  await world.poll();
  world.peer.hang();
  world.show(0, "error");
  world.daemon().watch();
  await world.peer.attempted(1);
  const stopped = world.daemon().stop();
  for (let second = 0; second < 5; second += 1) {
    for (let turn = 0; turn < 20; turn += 1) await settle();
    world.clock.advance(1_000);
  }
  await stopped;
  expect(world.log.filter(({ event }) => event?.startsWith("loop."))).toEqual([]);
});
