import { describe, expect, it, onTestFinished } from "vitest";
import { openStore } from "../../src/store/store.ts";
import type { Store } from "../../src/store/store.ts";
import { startReceiverServer, status } from "../notify/support/receiver-server.ts";
import { watchWorld } from "../support/watched-world.ts";
import { webhookSecret } from "../support/webhook-peer.ts";
import { countCalls } from "./support/counting-agent.ts";

/** Lets a call wait for as long as it is held. */
function createGate() {
  let held: PromiseWithResolvers<void> | null = null;
  return {
    pass: async (): Promise<void> => held?.promise,
    hold: (): void => void (held ??= Promise.withResolvers()),
    release(): void {
      held?.resolve();
      held = null;
    },
  };
}

/** Each loop, how far apart its turns usually are, and what of the store it can hang on. */
const loops: readonly [
  loop: string,
  intervalSeconds: number,
  hang: (store: Store, pass: () => Promise<void>) => Partial<Store>,
][] = [
  [
    "polls",
    10,
    (store, pass) => ({
      commitPoll: async (...poll) => pass().then(() => store.commitPoll(...poll)),
    }),
  ],
  [
    "probes",
    20,
    (store, pass) => ({
      probes: {
        ...store.probes,
        commitRun: async (...run) => pass().then(() => store.probes.commitRun(...run)),
      },
    }),
  ],
  [
    "deliveries",
    30,
    (store, pass) => ({
      outbox: { ...store.outbox, due: async (...of) => pass().then(() => store.outbox.due(...of)) },
    }),
  ],
  [
    // Alerts are posted again to Alertmanager each minute.
    "deliveries",
    60,
    (store, pass) => ({
      notified: {
        ...store.notified,
        notifiedTo: async (...of) => pass().then(() => store.notified.notifiedTo(...of)),
      },
    }),
  ],
  [
    "upkeep",
    60,
    (store, pass) => ({
      prune: { ...store.prune, gaps: async (...of) => pass().then(() => store.prune.gaps(...of)) },
    }),
  ],
];

async function runWorld(hang: (store: Store) => Partial<Store>) {
  const heartbeats = await startReceiverServer(status(200));
  const oncall = await startReceiverServer(status(200));
  const { createDispatcher, count, settled } = countCalls();
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
    overrides: { createDispatcher },
    openStore(path) {
      const opened = openStore(path, undefined, { isTemporary: true });
      return count({ ...opened, ...hang(opened) });
    },
  });
  const address = await world.address();
  world.daemon().watch();
  await settled();
  return {
    world,
    heartbeats,
    pass: async (seconds: number): Promise<void> => {
      for (let passed = 0; passed < seconds; passed += 1) {
        world.clock.advance(1_000);
        await settled();
      }
    },
    events: (loop: string) =>
      world.log
        .filter((line) => line.event?.startsWith("loop.") && line["loop"] === loop)
        .map(({ event }) => event),
    asks: async (path: string) => {
      const response = await fetch(`${address}${path}`);
      return { status: response.status, text: await response.text() };
    },
  };
}

describe("a loop that falls silent", () => {
  it.each(loops)(
    "is logged, shown, and stops readiness, heartbeats and at last health, until it has turns again: %s, usually every %d s",
    async (loop, interval, hang) => {
      const gate = createGate();
      const { world, heartbeats, pass, events, asks } = await runWorld((store) =>
        hang(store, gate.pass),
      );
      onTestFinished(() => gate.release());
      await pass(130);
      expect(world.log.filter(({ event }) => event?.startsWith("loop."))).toEqual([]);
      expect((await asks("/-/ready")).text).toBe("ready\n");
      await heartbeats.received(4);

      gate.hold();
      await pass(3 * interval + 1);
      expect(events(loop)).toEqual(["loop.silent"]);
      const ready = await asks("/-/ready");
      expect(ready.status).toBe(503);
      expect(ready.text).toContain(`loop ${loop} is silent`);
      expect((await asks("/-/healthy")).status).toBe(200);
      const nowSeconds = world.clock.now().utcMs / 1_000;
      const metrics = await world.metrics();
      const turnOf = (which: string): number => {
        const family = `sandwatch_loop_${which}_turn_timestamp_seconds`;
        return Number(new RegExp(`^${family}\\{loop="${loop}"\\} (\\S+)$`, "m").exec(metrics)?.[1]);
      };
      expect(nowSeconds - turnOf("last")).toBeGreaterThan(2 * interval);
      expect(turnOf("next")).toBeCloseTo(turnOf("last") + interval);
      expect(metrics).toContain(`sandwatch_loop_interval_seconds{loop="${loop}"} ${interval}`);

      const beats = heartbeats.requests.length;
      await pass(8 * interval);
      expect(heartbeats.requests).toHaveLength(beats);
      expect(world.log.map(({ event }) => event)).toContain("heartbeat.withheld");
      const healthy = await asks("/-/healthy");
      expect(healthy.status).toBe(503);
      expect(healthy.text).toContain(`loop ${loop} is silent`);
      expect(events(loop)).toEqual(["loop.silent"]);

      gate.release();
      await pass(61);
      expect(events(loop)).toEqual(["loop.silent", "loop.recovered"]);
      expect((await asks("/-/ready")).text).toBe("ready\n");
      expect((await asks("/-/healthy")).text).toBe("ok\n");
      await heartbeats.received(beats + 1);
    },
  );
});
