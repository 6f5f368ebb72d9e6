import { describe, expect, it } from "vitest";
import { startReceiverServer, status } from "../notify/support/receiver-server.ts";
import type { ReceiverServer } from "../notify/support/receiver-server.ts";
import { notifications } from "../support/heard.ts";
import { watchWorld } from "../support/watched-world.ts";
import type { WatchedWorld, WorldOptions } from "../support/watched-world.ts";
import { webhookSecret } from "../support/webhook-peer.ts";

const server = { name: "err", on: "server", status: "error" };
const group = { group_wait: "0s" };
const webhook = ({ url }: ReceiverServer): object => ({ type: "webhook", url: url.reveal() });

/** Two receivers, of which the other one is configured or not. */
async function start(
  settings = webhook,
  rules: readonly object[] = [server],
  options: WorldOptions = {},
) {
  const other = await startReceiverServer(status(202));
  const world = await watchWorld(options);
  const oncall = { type: "webhook", url: world.peer.url, secret: webhookSecret };
  const restart = (which: "with" | "without", changed = rules): Promise<void> =>
    world.restart({
      alerts: {
        rules: changed,
        receivers: [
          { ...group, name: "oncall", ...oncall },
          ...(which === "with" ? [{ name: "other", ...settings(other) }] : []),
        ],
      },
    });
  await restart("with");
  /** Which step of an incident each body that the other receiver was sent reports. */
  const sent = (): readonly string[] =>
    other.requests.map(({ body }) =>
      /"incident\.resolved"|"resolved?"|Resolved \(/.test(body) ? "resolved" : "firing",
    );
  return { world, sent, restart };
}

describe("a receiver that is not configured when an incident ends is notified when it returns", () => {
  it.each<[string, (other: ReceiverServer) => object]>([
    ["webhook", (other) => ({ ...group, ...webhook(other) })],
    ["Alertmanager's format", (other) => ({ ...group, ...webhook(other), format: "alertmanager" })],
    ["slack", ({ url }) => ({ ...group, type: "slack", url: url.reveal() })],
    [
      "pagerduty",
      ({ url }) => ({ type: "pagerduty", url: url.reveal(), routing_key: "0".repeat(32) }),
    ],
  ])("%s", async (_, settings) => {
    const { world, sent, restart } = await start(settings);
    world.show(0, "error");
    await world.poll();
    await restart("without");
    world.show(0, "idle");
    await world.poll(2);
    await restart("without");
    await world.poll(2);
    expect([notifications(world), sent()]).toEqual([["err firing", "err resolved"], ["firing"]]);
    for (let times = 0; times < 2; times += 1) {
      await restart("with");
      await world.poll(2);
    }
    expect(sent()).toEqual(["firing", "resolved"]);
    expect(notifications(world)).toEqual(["err firing", "err resolved"]);
  });

  const probes = [{ name: "list", operation: "universes", every: "5s" }];
  const failure = { kind: "status", status: 404 } as const;
  type Step = (world: WatchedWorld) => void;
  it.each<[string, object, Step, Step, WorldOptions]>([
    [
      "the target can be reached again",
      { name: "down", on: "target", failing: { polls: 1 } },
      (world) => world.fail({ kind: "status", status: 500 }),
      (world) => world.fail(),
      {},
    ],
    [
      "the pool is within its limit",
      { name: "full", on: "pool", by: ["region"], idle: { below: 3 } },
      (world) => world.show(0, "occupied"),
      (world) => world.show(0, "idle"),
      {},
    ],
    [
      "the probe succeeds",
      { name: "probe", on: "probe", failing: { polls: 1 } },
      (world) => world.fail({ operation: "list_universes", ...failure }),
      (world) => world.fail(),
      { probes },
    ],
  ])("%s", async (_, rule, begin, end, options) => {
    const { world, sent, restart } = await start(webhook, [rule], options);
    begin(world);
    await world.poll();
    await restart("without");
    end(world);
    await world.poll(3);
    await restart("with");
    await world.poll(2);
    expect(sent()).toEqual(["firing", "resolved"]);
  });
});

it("a receiver that a rule no longer names is notified of the end of what it was notified of", async () => {
  const { world, sent, restart } = await start();
  world.show(0, "error");
  await world.poll();
  await restart("with", [{ ...server, receivers: ["oncall"] }]);
  world.show(0, "idle");
  await world.poll(2);
  expect(sent()).toEqual(["firing", "resolved"]);
});
