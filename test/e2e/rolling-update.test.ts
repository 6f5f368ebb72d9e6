import { expect, it } from "vitest";
import { answerJson, startPeer } from "../service/peer.ts";
import { postgresFolder, postgresSettings } from "../store/support/postgres.ts";
import { writeConfig } from "../support/config-file.ts";
import { startSandwatch } from "../support/sandwatch-process.ts";
import { startWebhookPeer, webhookSecret } from "../support/webhook-peer.ts";
import { expectEachOnce } from "./support/each-once.ts";
import { freePort } from "./support/peer-process.ts";
import { until } from "./support/until.ts";

const servers = 40;

/** A service whose servers are in error one after another, each for some polls, and when it was asked. */
async function startService() {
  const askedMs: number[] = [];
  let polls = 0;
  const { baseUrl } = await startPeer((_request, response) => {
    askedMs.push(performance.now());
    polls += 1;
    const listed = Array.from({ length: servers }, (_, id) => ({
      id: `server-${id}`,
      server_name: "github",
      status: polls > id && polls <= id + 3 ? "error" : "idle",
    }));
    const sandbox = { local_sandbox_id: "a", created_at: null, servers: listed };
    answerJson(response, { local_sandboxes: [sandbox], total_count: 1 });
  });
  return { baseUrl, askedMs };
}

it("a rolling update that starts each process before it stops an old one loses no poll, doubles no notification, and leaves two that are ready", async () => {
  const service = await startService();
  const peer = await startWebhookPeer();
  const { url } = postgresSettings(postgresFolder ?? "", "unused");
  const schema = `rolling_${process.pid}`;
  const start = async () => {
    const port = await freePort();
    const address = `http://127.0.0.1:${port}`;
    const { config } = writeConfig({
      regions: { us: { base_url: service.baseUrl } },
      keys: [{ name: "research", api_key: "simulated-research" }],
      poll: { every: "1s" },
      store: { postgres: { url: url.reveal(), schema } },
      cluster: { address, allow_http: true },
      http: { listen: `127.0.0.1:${port}`, auth: "none" },
      alerts: {
        rules: [{ name: "server-error", on: "server", status: "error" }],
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
    });
    const program = startSandwatch(["run", "--config", config]);
    const isReady = async () => (await fetch(`${address}/-/ready`)).status === 200;
    await until("it is ready", isReady);
    return { address, program, isReady };
  };
  let serving = [await start(), await start()];
  const isActive = async ({ address }: (typeof serving)[number]) =>
    /^sandwatch_active 1$/m.test(await (await fetch(`${address}/metrics`)).text());

  // As a Deployment with maxSurge 1 and maxUnavailable 0 does. The active process is stopped each time.
  for (const _ of ["first", "second"]) {
    await peer.attempted(peer.attemptedIds.length + 1);
    serving.push(await start());
    const active = await until("one is active", async () => {
      for (const each of serving) if (await isActive(each)) return each;
      return undefined;
    });
    serving = serving.filter((each) => each !== active);
    active.program.send("SIGTERM");
    const ended = active.program.ended;
    const ready = await Promise.all(serving.map(({ isReady }) => isReady()));
    expect(ready).toEqual([true, true]);
    expect(await ended).toMatchObject({ code: 0, err: "" });
  }
  await until("one is active", async () => {
    for (const each of serving) if (await isActive(each)) return true;
    return undefined;
  });

  await until("the last server has recovered", async () =>
    peer.alerts.some(({ data }) =>
      data.incidents.some(
        (each) => each.state === "resolved" && each.server_id === `server-${servers - 1}`,
      ),
    ),
  );
  expectEachOnce(peer, servers);
  const gaps = service.askedMs.slice(1).map((at, index) => at - (service.askedMs[index] ?? 0));
  // An interval and the start of a process that stood by.
  expect(Math.max(...gaps)).toBeLessThan(4_000);
  expect(Math.min(...gaps)).toBeGreaterThan(300);
});
