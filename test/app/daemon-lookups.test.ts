import { once } from "node:events";
import { createServer } from "node:http";
import { describe, expect, it, onTestFinished } from "vitest";
import { createDaemon } from "../../src/app/daemon.ts";
import { createLogger } from "../../src/lib/logger.ts";
import { createWatchedClock } from "../simulator/start-simulator.ts";
import { postLookup } from "../support/post-lookup.ts";
import { testConfig } from "../support/test-config.ts";
import { apiKey, watchWorld } from "../support/watched-world.ts";
import type { WatchedWorld } from "../support/watched-world.ts";

async function ask(world: WatchedWorld, path: string, init: RequestInit = {}) {
  const answer = await postLookup(await world.address(), path, init);
  const body: unknown = await answer.json();
  return { status: answer.status, retryAfter: answer.headers.get("retry-after"), body };
}

/** A daemon that serves, without polling by itself, in front of a service that answers anything with `{}`. */
async function serveDaemon(rateLimit: object) {
  const paths: string[] = [];
  const service = createServer(({ url = "" }, response) => {
    paths.push(url);
    response.end("{}");
  }).listen(0, "127.0.0.1");
  await once(service, "listening");
  onTestFinished(() => void service.close());
  const bound = service.address();
  const port = typeof bound === "object" && bound ? bound.port : 0;
  const config = testConfig({
    regions: { us: { base_url: `http://127.0.0.1:${port}/us` } },
    keys: [{ name: "research", api_key: apiKey }],
    poll: { rate_limit: rateLimit },
    store: { path: ":memory:" },
    http: { listen: "127.0.0.1:0" },
  });
  const log = createLogger({ level: "silent", format: "json" });
  const clock = createWatchedClock();
  const daemon = await createDaemon(config, { log, clock });
  onTestFinished(() => daemon.stop());
  return { daemon, clock, address: await daemon.serve(), paths };
}

describe("a look-up through the daemon", () => {
  it("takes its token from the bucket that polls take theirs from", async () => {
    const { daemon, address, paths } = await serveDaemon({ requests: 1, per: "10s" });
    await daemon.runOnce();
    expect(paths).toEqual(["/us/local-sandbox"]);
    const answer = await postLookup(address, "universes");
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([429, "11"]);
    expect(paths).toEqual(["/us/local-sandbox"]);
  });

  it("has polls wait when an answer has a Retry-After, and says so while they do", async () => {
    const world = await watchWorld();
    world.fail({ kind: "status", status: 429, retry_after: 60, operation: "list_universes" });
    expect(await ask(world, "universes")).toMatchObject({
      status: 200,
      body: { outcome: "failed", status: 429, retry_after_seconds: 60 },
    });
    expect(await ask(world, "user?id=user-1")).toMatchObject({
      status: 429,
      retryAfter: "60",
      body: { detail: expect.stringContaining("Try again in 60 s.") },
    });
    await world.poll();
    expect(await world.metrics()).toContain(
      'sandwatch_poll_failures_total{region="us",key="research",reason="rate_limited"} 1',
    );
  });

  it("that waits for its turn does not outlive the daemon", async () => {
    const { daemon, clock, address } = await serveDaemon({ requests: 1, per: "2s" });
    await postLookup(address, "universes");
    await clock.timerArmed();
    const waiting = postLookup(address, "universes").catch(() => "gone");
    await clock.timerArmed();
    expect(clock.armed).toBe(1);
    await daemon.stop();
    expect(clock.armed).toBe(0);
    await waiting;
  });
});
