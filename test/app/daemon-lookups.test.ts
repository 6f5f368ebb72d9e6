import { describe, expect, it, onTestFinished } from "vitest";
import { createDaemon } from "../../src/app/daemon.ts";
import { createLogger } from "../../src/lib/logger.ts";
import { startPeer } from "../service/peer.ts";
import { createWatchedClock } from "../simulator/start-simulator.ts";
import { testConfig } from "../support/test-config.ts";
import { watchWorld } from "../support/watched-world.ts";

/** A daemon that serves, without polling by itself, in front of a service that answers anything with `{}`. */
async function serveDaemon(rateLimit: object) {
  const { baseUrl, paths } = await startPeer((_request, response) => response.end("{}"));
  const config = testConfig({
    regions: { us: { base_url: baseUrl } },
    keys: [{ name: "research", api_key: "a" }],
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

/** Looks something up over HTTP. @param lookup with its fields as a query, such as `user?id=user-1` */
function postLookup(address: string, lookup: string, init: RequestInit = {}): Promise<Response> {
  const { pathname, searchParams } = new URL(lookup, `${address}/api/v1/lookups/`);
  return fetch(address + pathname, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(Object.fromEntries(searchParams)),
    ...init,
  });
}

describe("a look-up through the daemon", () => {
  it("has polls wait when an answer has a Retry-After, and says so while they do", async () => {
    const world = await watchWorld();
    world.fail({ kind: "status", status: 429, retry_after: 60, operation: "list_universes" });
    const address = await world.address();
    const failed = await postLookup(address, "universes");
    const body = { outcome: "failed", status: 429, retry_after_seconds: 60 };
    expect(await failed.json()).toMatchObject(body);
    const refused = await postLookup(address, "user?id=user-1");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "60"]);
    expect(await refused.text()).toContain("Try again in 60 s.");
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
