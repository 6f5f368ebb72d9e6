import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { BusyError } from "../../src/lib/refusal.ts";
import { createRetryBudget } from "../../src/lib/retry.ts";
import type { ServiceContext } from "../../src/api/context.ts";
import { lookUp } from "../../src/api/operations/lookups.ts";
import type { LookupView } from "../../src/api/operations/lookups.ts";
import { readRequest } from "../../src/api/operation.ts";
import { Secret } from "../../src/lib/secret.ts";
import { createKeyLimits } from "../../src/polling/key-limits.ts";
import { failure } from "../../src/service/failure.ts";
import { answerJson, createTestClient, startPeer, testKey } from "../service/peer.ts";
import type { Handler } from "../service/peer.ts";
import { createWatchedClock } from "../simulator/start-simulator.ts";

const target = { region: "us", key: "research" };
const user = { userId: "u1", createdAt: "then", lastUsedAt: null };

/** Look-ups at a peer in the service's place, with room for two calls a second. */
async function start(handler: Handler, changed: Partial<ServiceContext> = {}) {
  const peer = await startPeer(handler);
  const clock = createWatchedClock();
  const { client } = createTestClient(peer.baseUrl, { clock });
  const limits = createKeyLimits(clock, { requests: 2, perMs: 1_000 });
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const context: ServiceContext = {
    service: client,
    limits,
    targets: [{ target }],
    keys: [{ name: "research", apiKey: new Secret(testKey) }],
    clock,
    signal: stop.signal,
    maxBodyBytes: 1_000_000,
    inProgress: { lookups: 0, checks: 0 },
    ...changed,
  };
  const request = async (operation: string, query: object): Promise<LookupView> =>
    lookUp.handle(context, readRequest(lookUp.request, { operation, ...query }));
  return { peer, clock, limits, request, stop };
}

const answerUser: Handler = (_request, response) => answerJson(response, user);

describe("a look-up", () => {
  it.each([
    ["user", { id: "u1" }, "/user/u1"],
    ["universe-data", { id: "a/b" }, "/universes/a%2Fb/initial_data"],
    ["white-label", { id: "c" }, "/white-labeling/get/c"],
  ])("%s asks for its path and answers all that came", async (word, query, path) => {
    const { request, peer } = await start((_request, response) =>
      answerJson(response, { ...user, brandNew: [1] }),
    );
    expect(await request(word, query)).toEqual({
      operation: word,
      id: query.id,
      ...target,
      outcome: "answered",
      answer: { ...user, brandNew: [1] },
    });
    expect(peer.paths).toEqual([path]);
  });

  it("of sandboxes has every field, with what may be secret masked", async () => {
    const server = {
      id: "v1",
      mcp_server_url: "https://host/mcp/?id=S3CRET",
      metadata: { owner: "S3CRET" },
      auth_data: { token: "S3CRET" },
      updated_at: "now",
      tags: ["prod"],
    };
    const listing = {
      local_sandboxes: [{ local_sandbox_id: "s1", created_at: "then", servers: [server] }],
      total_count: 1,
    };
    const answer: Handler = (_request, response) => answerJson(response, listing);
    const masked = await start(answer);
    const view = await masked.request("sandboxes", {});
    expect(view).toMatchObject({
      id: null,
      answer: {
        total_count: 1,
        local_sandboxes: [
          {
            servers: [
              {
                mcp_server_url: "https://host/mcp/?[secret]",
                metadata: "[secret]",
                tags: ["prod"],
              },
            ],
          },
        ],
      },
    });
    expect(JSON.stringify(view)).not.toContain("S3CRET");
  });

  it("takes its token from the key's bucket, and waits for one", async () => {
    const { request, limits, clock, peer } = await start(answerUser);
    for (const call of [limits.admitNow(target), limits.admitNow(target)]) call?.sent();
    const waiting = request("user", { id: "u1" });
    await clock.timerArmed();
    expect(peer.paths).toEqual([]);
    clock.advance(1_050);
    expect(await waiting).toMatchObject({ outcome: "answered" });
  });

  it.each([
    ["is sent", true, 1_350],
    ["left, where it never is sent", false, 1_050],
  ])("counts within the limit from when it %s", async (_from, isSent, freeMs) => {
    const look: ServiceContext["service"]["look"] = (call) => {
      clock.advance(300);
      if (isSent) call.onSent?.();
      clock.advance(200);
      return Promise.resolve(failure("network", "refused"));
    };
    const { request, limits, clock } = await start(answerUser, {
      service: { look, examine: () => Promise.reject(new Error("not called")) },
    });
    const startedMs = clock.now().monotonicMs;
    await request("user", { id: "u1" });
    limits.admitNow(target)?.sent();
    expect(limits.nextFreeMs(target) - startedMs).toBe(freeMs);
  });

  it("is told how long to wait when there is no token for longer than a person waits", async () => {
    const { request, limits, clock, peer } = await start(answerUser);
    limits.pause(target, clock.now().monotonicMs + 3_500);
    const refused = await request("user", { id: "u1" }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(BusyError);
    expect(refused).toMatchObject({ kind: "busy", retryAfterMs: 3_500 });
    expect(refused).toHaveProperty("message", expect.stringContaining("Try again in 4 s."));
    expect(peer.paths).toEqual([]);
  });

  it("waits no longer than half of what lies between two polls", async () => {
    const { request, limits, clock } = await start(answerUser, { pollIntervalMs: 1_000 });
    limits.pause(target, clock.now().monotonicMs + 501);
    await expect(request("user", { id: "u1" })).rejects.toThrow("Try again in 1 s.");
  });

  it("shows what a 422 finds fault with, without secrets", async () => {
    const detail = [
      { loc: ["path", "userId", 3], msg: `bad https://h?x=1 ${testKey}`, type: "oops", input: "x" },
    ];
    const { request } = await start((_request, response) => answerJson(response, { detail }, 422));
    expect(await request("user", { id: "u1" })).toMatchObject({
      reason: "http_error",
      status: 422,
      validation: [
        { loc: ["path", "userId", 3], msg: "bad https://h?[secret] [secret]", type: "oops" },
      ],
    });
  });

  it("tells an operation that is not there from an id that is unknown", async () => {
    const { request } = await start((sent, response) => {
      const isUser = sent.url?.startsWith("/user/") ?? false;
      answerJson(response, { detail: isUser ? "No user of this id" : "Not Found" }, 404);
    });
    const unknown = await request("user", { id: "u1" });
    expect(unknown).toMatchObject({ status: 404, problem: null });
    const missing = await request("universes", {});
    expect(missing).toMatchObject({ status: 404, problem: "operation_missing" });
  });

  it("is one of few at a time", async () => {
    const { request, limits, clock, stop } = await start(answerUser);
    limits.pause(target, clock.now().monotonicMs + 1_000);
    const ask = () => request("user", { id: "u1" });
    const waiting = Promise.allSettled(Array.from({ length: 8 }, ask));
    await expect(ask()).rejects.toThrow("8 look-ups are already in progress");
    stop.abort();
    await waiting;
    await expect(ask()).rejects.toThrow("sandwatch is stopping");
  });

  it("ends when sandwatch stops, whether it waits or not", async () => {
    const { request, limits, clock, stop } = await start(() => {});
    const asked = request("user", { id: "u1" });
    limits.pause(target, clock.now().monotonicMs + 1_000);
    const waiting = request("user", { id: "u1" });
    stop.abort();
    expect(await asked).toMatchObject({ reason: "network", detail: "stopped" });
    await expect(waiting).rejects.toThrow("sandwatch is stopping");
    expect(clock.armed).toBe(0);
  });

  it("is sent once more over a dead connection only where retries of the polls are left", async () => {
    const served = new WeakSet<object>();
    const endEachAtItsSecond: Handler = (request, response) => {
      if (served.has(request.socket)) return void request.socket.resetAndDestroy();
      served.add(request.socket);
      answerUser(request, response);
    };
    const budget = createRetryBudget(0.5);
    const { request, clock } = await start(endEachAtItsSecond, { budget });
    await request("user", { id: "u1" });
    await nextTurn();
    clock.advance(2_000);
    expect((await request("user", { id: "u1" })).outcome).toBe("answered");
    expect(budget.hasRetry).toBe(false);
    const poor = await start(endEachAtItsSecond, { budget: createRetryBudget(0.1) });
    await poor.request("user", { id: "u1" });
    await nextTurn();
    poor.clock.advance(2_000);
    const second = await poor.request("user", { id: "u1" });
    expect(second).toMatchObject({ outcome: "failed", reason: "network" });
  });

  it("reads no more than it may", async () => {
    const { request } = await start(
      (_request, response) => answerJson(response, { text: "x".repeat(2_000) }),
      { maxBodyBytes: 1_000 },
    );
    const view = await request("universe-data", { id: "x" });
    expect(view).toMatchObject({ reason: "too_large" });
  });

  it.each([
    ["users", {}, "operation: user, universes, universe-data, white-label, sandboxes"],
    ["user", {}, "user requires an id."],
    ["universes", { id: "x" }, "universes is looked up as a whole, without an id."],
    ["user", { id: "" }, "other than . and .."],
    ["user", { id: ".." }, "other than . and .."],
    ["user", { id: "\ud800" }, "other than . and .."],
    ["user", { id: "x".repeat(1_001) }, "1 to 1000 characters"],
    ["user", { id: "x", regions: "us" }, "regions: nothing: there is no such field"],
  ])("that makes no sense is refused and costs nothing: %s %j", async (word, query, says) => {
    const { request, limits, peer } = await start(answerUser);
    await expect(request(word, query)).rejects.toThrow(says);
    expect(peer.paths).toEqual([]);
    limits.admitNow(target);
    expect(limits.admitNow(target)).not.toBeNull();
  });
});
