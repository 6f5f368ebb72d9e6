import { expect, it } from "vitest";
import { listTargets } from "../../src/api/operations/targets.ts";
import { bucketFromJson } from "../../src/store/occupancy-columns.ts";
import { startWebhookPeer, webhookSecret, type WebhookPeer } from "../support/webhook-peer.ts";
import { expectEachOnce } from "./support/each-once.ts";
import { execute } from "./support/replica-stores.ts";
import { keys, serversPerKey, twoReplicas } from "./support/two-replicas.ts";
import { until } from "./support/until.ts";

const hourMs = 3_600_000;
/** Among them, most often, some of either replica. */
const receivers = ["oncall", "team", "chat", "archive"];

const hear = (peers: readonly WebhookPeer[], type: string) =>
  until(`all hear ${type}`, async () =>
    peers.every(({ alerts }) => {
      const some = alerts.filter((alert) => alert.type === type);
      return some.flatMap(({ data }) => data.incidents).length === serversPerKey;
    }),
  );

it.each([
  ["ahead", hourMs, -hourMs],
  ["behind", -hourMs, hourMs],
])(
  "what fires at a replica whose clock is an hour %s is notified once, and resolved by one whose clock is two hours off from that",
  async (_, oneOffMs, otherOffMs) => {
    const startedMs = performance.now();
    const peers = await Promise.all(receivers.map(startWebhookPeer));
    const { replicas, show, schema } = await twoReplicas(
      {
        alerts: {
          rules: [{ name: "server-error", on: "server", status: "error" }],
          receivers: peers.map(({ url }, index) => {
            const secret = webhookSecret;
            return { name: receivers[index], type: "webhook", url, secret, group_wait: "0s" };
          }),
        },
      },
      [oneOffMs, otherOffMs],
    );
    const [one, other] = replicas;
    const key = one.daemon.targets[0]?.target.key ?? "";
    await until("all servers are known", async () => {
      const [row] = await execute(`select count(*) as known from ${schema}.servers`);
      return Number(row?.known) === serversPerKey * keys.length;
    });
    show(key, "error");
    await hear(peers, "incident.firing");
    await one.stop();
    await until("the other one polls all", async () => {
      const { targets } = await other.daemon.api(listTargets, {});
      return other.daemon.targets.length === keys.length && targets.every(({ up }) => up === true);
    });
    show(key, "idle");
    await hear(peers, "incident.resolved");
    await other.stop();
    const passedMs = performance.now() - startedMs;
    for (const peer of peers) expectEachOnce(peer, serversPerKey);
    await expectHistory(schema, key, passedMs);
    for (const { observedMs, unobservedMs } of await bucketsOf(schema)) {
      expect(observedMs).toBeGreaterThan(0);
      expect(observedMs).toBeLessThanOrEqual(serversPerKey * passedMs);
      expect(unobservedMs).toBeGreaterThanOrEqual(0);
      const leapMs = Math.max(0, otherOffMs - oneOffMs);
      expect(unobservedMs).toBeLessThanOrEqual(serversPerKey * (leapMs + passedMs));
    }
  },
);

/** Each change continues the one before it, and no status lasted longer than the test. */
async function expectHistory(schema: string, key: string, passedMs: number): Promise<void> {
  const changes = await execute(
    `select server, key, from_status, to_status, dwell_ms from ${schema}.changes
     join ${schema}.servers on servers.id = server join ${schema}.targets on targets.id = target_id
     order by seq`,
  );
  const byServer = Map.groupBy(changes, ({ server }) => String(server));
  expect(byServer.size).toBe(serversPerKey * keys.length);
  for (const own of byServer.values()) {
    const shown = own[0]?.key === key ? ["idle", "error", "idle"] : ["idle"];
    expect(own.map(({ to_status: to }) => to)).toEqual(shown);
    expect(own.map(({ from_status: from }) => from)).toEqual(["absent", ...shown.slice(0, -1)]);
    for (const { dwell_ms: dwellMs } of own) {
      expect(Number(dwellMs ?? 0)).toBeGreaterThanOrEqual(0);
      expect(Number(dwellMs ?? 0)).toBeLessThanOrEqual(passedMs);
    }
  }
}

/** The time of all servers of each target in its buckets, closed and open. */
async function bucketsOf(schema: string) {
  const closed = await execute(
    `select target_id, idle_ms, occupied_ms, error_ms, unknown_ms, unobserved_ms
     from ${schema}.occupancy where resolution = '5m'`,
  );
  const targets = await execute(`select id, open_bucket from ${schema}.targets`);
  expect(targets).toHaveLength(keys.length);
  return targets.map(({ id, open_bucket: open }) => {
    const times = [
      ...closed
        .filter(({ target_id: target }) => target === id)
        .map((row) => ({
          ms: [row.idle_ms, row.occupied_ms, row.error_ms, row.unknown_ms].map(Number),
          unobservedMs: Number(row.unobserved_ms),
        })),
      ...bucketFromJson(open)
        .names.values()
        .map(({ ms, unobservedMs }) => ({ ms: Object.values(ms), unobservedMs })),
    ];
    for (const { ms } of times) expect(Math.min(...ms)).toBeGreaterThanOrEqual(0);
    const sum = (some: readonly number[]) => some.reduce((total, each) => total + each, 0);
    return {
      observedMs: sum(times.flatMap(({ ms }) => ms)),
      unobservedMs: sum(times.map(({ unobservedMs }) => unobservedMs)),
    };
  });
}
