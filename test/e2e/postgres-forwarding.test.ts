import { join } from "node:path";
import { writeFileSync } from "node:fs";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { systemClock } from "../../src/lib/clock.ts";
import { createSimulator } from "../../src/simulator/simulator.ts";
import { writeConfig } from "../support/config-file.ts";
import { freeAddress } from "../support/free-address.ts";
import { runCommand } from "../support/run-command.ts";
import { startSandwatch } from "../support/sandwatch-process.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { startWebhookPeer, webhookSecret } from "../support/webhook-peer.ts";
import { freshSettings } from "./support/replica-stores.ts";
import { until } from "./support/until.ts";

const names = Array.from({ length: 12 }, (_, index) => `key-${index}`);
const token = "operators-and-callers-T0PSECRET";

/** Two daemons that share a store, a service with a server for each key, and a receiver. */
async function startTwo() {
  const keys = names.map((name) => ({ name, apiKey: `${name}-T0PSECRET` }));
  const world = { seed: 3, clock: systemClock, regions: ["us"], keys, servers: 1, pace: 0 };
  const simulator = createSimulator({ ...world, rateLimit: null });
  const services = await simulator.listen({ host: "127.0.0.1", port: 0 });
  onTestFinished(() => simulator.close());
  const show = (key: string, status: string): void => {
    const target = { region: "us", key };
    const [server] = simulator.truth(target, systemClock.now().utcMs);
    simulator.pin(target, server?.serverId ?? "", status);
  };
  for (const name of names) show(name, "idle");
  const peer = await startWebhookPeer();
  const { url, schema } = freshSettings();
  const start = async () => {
    const listen = await freeAddress();
    const folder = tempFolder();
    writeFileSync(join(folder, "token"), token);
    const { config } = writeConfig(
      {
        regions: { us: { base_url: services.get("us") } },
        keys: keys.map(({ name, apiKey }) => ({ name, api_key: apiKey })),
        poll: { every: "1s", rate_limit: { requests: 100, per: "1s" } },
        store: { postgres: { url: url.reveal(), schema } },
        cluster: { address: `http://${listen}`, lease: "5s" },
        http: { listen, auth: { tokens: [{ name: "ann", role: "admin", token }] } },
        alerts: {
          rules: [{ name: "server-error", on: "server", status: "error" }],
          receivers: [
            {
              name: "oncall",
              type: "webhook",
              url: peer.url,
              secret: webhookSecret,
              group_wait: "0s",
              send_acknowledged: true,
            },
          ],
        },
      },
      folder,
    );
    const daemon = startSandwatch(["run", "--config", config]);
    await daemon.line("daemon.started");
    const run = async (...args: readonly string[]) => {
      const file = join(folder, "token");
      const ended = await runCommand([...args, "--config", config, "--token-file", file]);
      expect(ended.out + ended.err).not.toContain("T0PSECRET");
      return ended;
    };
    const call = async (path: string, body: object) => {
      const response = await fetch(`http://${listen}/api/v1${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      return { status: response.status, body: JSON.parse(await response.text()) };
    };
    return { daemon, run, call, address: `http://${listen}` };
  };
  const [one, other] = [await start(), await start()];
  /** The keys of the other one, once all keys are owned. */
  const shared = async (): Promise<readonly string[]> => {
    const keysAt = new Map<string, readonly string[]>();
    await until("both own keys", async () => {
      const { replicas } = repliesSchema.parse(
        JSON.parse((await one.run("replicas", "--json")).out),
      );
      for (const { address, units } of replicas) {
        keysAt.set(
          address,
          units.flatMap(({ keys: ofUnit }) => ofUnit),
        );
      }
      const counts = [one, other].map(({ address }) => keysAt.get(address)?.length ?? 0);
      return (
        counts.every((count) => count > 0) && (counts[0] ?? 0) + (counts[1] ?? 0) === names.length
      );
    });
    return keysAt.get(other.address) ?? [];
  };
  return { one, other, shared, show, peer };
}

const repliesSchema = z.object({
  replicas: z.array(
    z.object({
      address: z.string(),
      units: z.array(z.object({ keys: z.array(z.string()) })),
    }),
  ),
});

it("two replicas answer for each other's keys, and keep to what either was asked about notifications", async () => {
  const { one, other, shared, show, peer } = await startTwo();
  await shared();
  for (const key of names) {
    for (const { call } of [one, other]) {
      await until("answered", async () => {
        const { status, body } = await call("/lookups/user", { id: "user-1", key });
        // Keys may still move.
        return status === 200 && body.key === key && body.outcome === "answered";
      });
    }
  }
  await one.daemon.line('"forwarded_by":"127.0.0.1"');
  await other.daemon.line('"forwarded_by":"127.0.0.1"');
  const polled = await until("polled", async () => {
    const answer = await one.call("/targets/poll", {});
    // Keys may still move.
    return answer.status === 200 && answer;
  });
  expect(polled.body.targets).toMatchObject(names.toSorted().map((key) => ({ key, up: true })));
  expect((await other.run("poll", "--now")).code).toBe(0);

  // Whichever replica owns the key: the silence is added at the other one for some of them.
  const silence = [
    "silence",
    "add",
    "--region",
    "us",
    "--for",
    "1h",
    "--reason",
    "it moves",
    "--author",
    "ann",
  ];
  expect((await one.run(...silence)).code).toBe(0);
  for (const key of names) show(key, "error");
  const firing = async (where: typeof one) =>
    JSON.parse((await where.run("incidents", "--state", "firing", "--json")).out).incidents;
  await until("muted", async () => (await firing(other)).length === names.length);
  expect(peer.alerts).toEqual([]);
  const [{ id }] = JSON.parse((await other.run("silence", "list", "--json")).out).silences;
  expect((await other.run("silence", "expire", id)).code).toBe(0);
  await until("notified", async () =>
    (await firing(one)).every((each: { readonly muted: boolean }) => !each.muted),
  );

  const all = ["ack", "--all", "--author", "ann"];
  expect((await other.run(...all)).code).toBe(0);
  expect((await one.run(...all)).out).toContain("0 acknowledged now, 12 before");
  for (const key of names) show(key, "idle");
  await until("resolved", async () => (await firing(one)).length === 0);
  const types = new Map<string, string[]>();
  await until("delivered", async () => {
    types.clear();
    for (const { type, data } of peer.alerts) {
      for (const incident of data.incidents) {
        const key = incident.key ?? "";
        types.set(key, [...(types.get(key) ?? []), type]);
      }
    }
    return [...types.values()].flat().length === 3 * names.length;
  });
  for (const key of names) {
    const inOrder = ["incident.firing", "incident.acknowledged", "incident.resolved"];
    expect([key, types.get(key)]).toEqual([key, inOrder]);
  }
  for (const { daemon } of [one, other]) {
    daemon.send("SIGTERM");
    const { code, out, err } = await daemon.ended;
    expect([code, err]).toEqual([0, ""]);
    expect(out).not.toContain("T0PSECRET");
  }
});

it("a key whose replica is frozen is answered for after its lease has ended", async () => {
  const { one, other, shared } = await startTwo();
  const keys = (await shared()).slice(0, 4);
  const lookUp = () =>
    Promise.all(keys.map((key) => one.call("/lookups/user", { id: "user-1", key })));
  await until("answered", async () => (await lookUp()).every(({ status }) => status === 200));
  other.daemon.send("SIGSTOP");
  onTestFinished(() => other.daemon.send("SIGKILL"));
  for (const { status, body } of await lookUp()) {
    expect([status, body.detail]).toEqual([503, expect.stringMatching(/^Only the replica that/)]);
  }
  await until("taken over", async () => (await lookUp()).every(({ status }) => status === 200));
});
