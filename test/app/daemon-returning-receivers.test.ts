import { describe, expect, it } from "vitest";
import { startReceiverServer, status } from "../notify/support/receiver-server.ts";
import type { ReceiverServer } from "../notify/support/receiver-server.ts";
import { told } from "../support/heard.ts";
import { watchWorld } from "../support/watched-world.ts";
import type { WatchedWorld, WorldOptions } from "../support/watched-world.ts";
import { webhookSecret } from "../support/webhook-peer.ts";

const routingKey = "0123456789abcdef".repeat(2);
const server = { name: "err", on: "server", status: "error" };

interface World {
  readonly world: WatchedWorld;
  readonly other: ReceiverServer;
  /** What the other receiver was sent. */
  readonly sent: () => readonly string[];
  /** Starts again with the other receiver configured or not, and perhaps with other rules. */
  readonly restart: (other: "with" | "without", rules?: readonly object[]) => Promise<void>;
}

/** Two receivers, of which the other one comes and goes. */
async function start(
  settings: (other: ReceiverServer) => object = ({ url }) => ({
    type: "webhook",
    url: url.reveal(),
  }),
  rules: readonly object[] = [server],
  options: WorldOptions = {},
): Promise<World> {
  const other = await startReceiverServer(status(202));
  const receiver = { name: "other", ...settings(other) };
  const world = await watchWorld(options);
  const stays = {
    name: "oncall",
    type: "webhook",
    url: world.peer.url,
    secret: webhookSecret,
    group_wait: "0s",
  };
  const restart: World["restart"] = (which, changed = rules) =>
    world.restart({
      alerts: { rules: changed, receivers: which === "with" ? [stays, receiver] : [stays] },
    });
  await restart("with");
  return {
    world,
    other,
    restart,
    sent: () => other.requests.map(({ body }) => stepIn(body)),
  };
}

/** Which step of an incident a body of any receiver reports. */
function stepIn(body: string): string {
  return /"incident\.resolved"|"resolved?"|Resolved \(/.test(body) ? "resolved" : "firing";
}

const group = { group_wait: "0s" };

describe("a receiver that is not configured when an incident ends is notified of that when it returns", () => {
  it.each<[string, (other: ReceiverServer) => object]>([
    ["webhook", ({ url }) => ({ ...group, type: "webhook", url: url.reveal() })],
    [
      "webhook in Alertmanager's format",
      ({ url }) => ({ ...group, type: "webhook", url: url.reveal(), format: "alertmanager" }),
    ],
    ["slack", ({ url }) => ({ ...group, type: "slack", url: url.reveal() })],
    ["pagerduty", ({ url }) => ({ type: "pagerduty", url: url.reveal(), routing_key: routingKey })],
  ])("%s", async (_, settings) => {
    const { world, sent, restart } = await start(settings);
    world.show(0, "error");
    await world.poll();
    await restart("without");
    world.show(0, "idle");
    await world.poll(2);
    await restart("without");
    await world.poll(2);
    expect([told(world), sent()]).toEqual([["err firing", "err resolved"], ["firing"]]);

    await restart("with");
    await world.poll(2);
    await restart("with");
    await world.poll(2);
    expect(sent()).toEqual(["firing", "resolved"]);
    expect(told(world)).toEqual(["err firing", "err resolved"]);
  });
});

describe("while a receiver is not configured, the end of an incident waits for it:", () => {
  const away = async (
    { world, sent, restart }: World,
    end: () => Promise<void> | void,
  ): Promise<readonly string[]> => {
    await restart("without");
    await end();
    await world.poll(3);
    await restart("with");
    await world.poll(2);
    return sent();
  };

  it("the target can be reached again", async () => {
    const down = [{ name: "down", on: "target", failing: { polls: 1 } }];
    const started = await start(undefined, down);
    started.world.fail({ kind: "status", status: 500 });
    await started.world.poll();
    expect(await away(started, () => started.world.fail())).toEqual(["firing", "resolved"]);
  });

  it("the pool is within its limit", async () => {
    const pool = [{ name: "full", on: "pool", by: ["region"], idle: { below: 3 } }];
    const started = await start(undefined, pool);
    started.world.show(0, "occupied");
    await started.world.poll();
    expect(await away(started, () => started.world.show(0, "idle"))).toEqual([
      "firing",
      "resolved",
    ]);
  });

  it("the probe succeeds, or is removed", async () => {
    const rules = [{ name: "probe", on: "probe", failing: { polls: 1 } }];
    const probes = [{ name: "list", operation: "universes", every: "5s" }];
    const started = await start(undefined, rules, { probes });
    started.world.fail({ operation: "list_universes", kind: "status", status: 404 });
    await started.world.poll();
    expect(await away(started, () => started.world.fail())).toEqual(["firing", "resolved"]);
  });

  it("and what fires after it is sent after it", async () => {
    const started = await start();
    const { world, sent } = started;
    world.show(0, "error");
    await world.poll();
    await away(started, async () => {
      world.show(0, "idle");
      await world.poll(2);
      world.show(0, "error");
    });
    expect(sent()).toEqual(["firing", "resolved", "firing"]);
  });

  it("but not if the receiver does not want it when it returns", async () => {
    const started = await start(({ url }) => ({
      ...group,
      type: "webhook",
      url: url.reveal(),
      send_resolved: false,
    }));
    started.world.show(0, "error");
    await started.world.poll();
    expect(await away(started, () => started.world.show(0, "idle"))).toEqual(["firing"]);
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
