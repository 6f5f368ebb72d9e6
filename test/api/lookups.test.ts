import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ServiceCalls } from "../../src/api/context.ts";
import { readRequest } from "../../src/api/operation.ts";
import { lookUp, type LookupView } from "../../src/api/operations/lookups.ts";
import { chooseTarget } from "../../src/api/service-call.ts";
import { createRetryBudget } from "../../src/lib/retry.ts";
import { Secret } from "../../src/lib/secret.ts";
import { KeyLimits } from "../../src/polling/key-limits.ts";
import { failure } from "../../src/service/failure.ts";
import { answerJson, createTestClient, startPeer, testKey, type Handler } from "../service/peer.ts";
import { createWatchedClock } from "../simulator/start-simulator.ts";

const target = { region: "us", key: "research" };
const user = { userId: "u1", createdAt: "then", lastUsedAt: null };

/** Look-ups at a peer in the service's place, with two tokens a second. */
async function start(handler: Handler, changed: Partial<ServiceCalls> = {}) {
  const peer = await startPeer(handler);
  const clock = createWatchedClock();
  const { client } = createTestClient(peer.baseUrl, { clock });
  const limits = new KeyLimits(clock, { requests: 2, perMs: 1_000 });
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const drift: string[] = [];
  const calls: ServiceCalls = {
    service: client,
    recordDrift: ({ region, operation, deviations }) =>
      drift.push(...deviations.map(({ field }) => `${region} ${operation} ${field}`)),
    limits,
    targets: [target],
    keys: [{ name: "research", apiKey: new Secret(testKey) }],
    clock,
    signal: stop.signal,
    maxBodyBytes: 1_000_000,
    inProgress: { lookups: 0, checks: 0 },
    ...changed,
  };
  const request = async (operation: string, query: object): Promise<LookupView> =>
    lookUp.handle({ calls }, readRequest(lookUp.request, { operation, ...query }));
  const requestUser = () => request("user", { id: "u1" });
  return { peer, clock, limits, request, requestUser, stop, drift };
}

it.each([200, 422])(
  "a look-up records how its response deviates, with status %i",
  async (status) => {
    const body = status === 200 ? { ...user, odd: 1 } : { detail: [], odd: 1 };
    const { requestUser, drift } = await start((_request, response) => {
      answerJson(response, body, status);
    });
    await requestUser();
    expect(drift).toEqual(["us get_user odd"]);
  },
);

const answerUser: Handler = (_request, response) => answerJson(response, user);

describe("a look-up", () => {
  it.each([
    ["user", { id: "u1" }, "/user/u1"],
    ["universe-data", { id: "a/b" }, "/universes/a%2Fb/initial_data"],
    ["white-label", { id: "c" }, "/white-labeling/get/c"],
  ])("%s calls its operation, and shows the whole response on request", async (word, id, path) => {
    const query = { ...id, show_secrets: true };
    const answer = { ...user, brandNew: [1], auth_data: { token: "https://host/?S3CRET" } };
    const { request, peer } = await start((_request, response) => answerJson(response, answer));
    const asked = { operation: word, id: query.id, ...target };
    expect(await request(word, query)).toEqual({ ...asked, outcome: "answered", answer });
    expect(peer.paths).toEqual([path]);
  });

  it("of sandboxes has every field, and what may be secret is masked", async () => {
    const server = {
      id: "v1",
      mcp_server_url: "https://host/mcp/?id=S3CRET",
      metadata: { owner: "S3CRET" },
      auth_data: { token: "S3CRET" },
      updated_at: "now",
      tags: ["prod"],
    };
    const sandboxes = [{ local_sandbox_id: "s1", created_at: "then", servers: [server] }];
    const { request } = await start((_request, response) =>
      answerJson(response, { local_sandboxes: sandboxes, total_count: 1 }),
    );
    const view = await request("sandboxes", {});
    const mcp_server_url = "https://host/[masked]";
    const metadata = "[masked: object of 1 field]";
    const shown = { mcp_server_url, metadata, tags: ["prod"] };
    expect(view).toMatchObject({
      id: null,
      answer: { total_count: 1, local_sandboxes: [{ servers: [shown] }] },
    });
    expect(JSON.stringify(view)).not.toContain("S3CRET");
  });

  it("waits for a token of the key's limit", async () => {
    const { requestUser, limits, clock, peer } = await start(answerUser);
    for (const call of [limits.admitNow(target), limits.admitNow(target)]) call?.sent();
    const waiting = requestUser();
    await clock.timerArmed();
    expect(peer.paths).toEqual([]);
    clock.advance(1_050);
    expect(await waiting).toMatchObject({ outcome: "answered" });
  });

  it.each([
    ["from when it is sent", true, 1_350],
    ["from when it began, if nothing is sent", false, 1_050],
  ])("counts within the limit %s", async (_from, isSent, freeMs) => {
    const look: ServiceCalls["service"]["look"] = (call) => {
      clock.advance(300);
      if (isSent) call.onSent?.();
      clock.advance(200);
      return Promise.resolve(failure("network", "refused"));
    };
    const examine = () => Promise.reject(new Error("not called"));
    const { requestUser, limits, clock } = await start(answerUser, { service: { look, examine } });
    const startedMs = clock.now().monotonicMs;
    await requestUser();
    limits.admitNow(target)?.sent();
    expect(limits.nextFreeMs(target) - startedMs).toBe(freeMs);
  });

  it("is refused if no token is free within three seconds, or half of the poll interval", async () => {
    const { requestUser, limits, clock, peer } = await start(answerUser);
    limits.pause(target, clock.now().monotonicMs + 3_500);
    const message = expect.stringContaining("Try again in 4 s.");
    await expect(requestUser()).rejects.toMatchObject({
      kind: "busy",
      retryAfterMs: 3_500,
      message,
    });
    expect(peer.paths).toEqual([]);
    const often = await start(answerUser, { pollIntervalMs: 1_000 });
    often.limits.pause(target, often.clock.now().monotonicMs + 501);
    await expect(often.requestUser()).rejects.toThrow("Try again in 1 s.");
  });

  it("shows what a 422 lists, without secrets", async () => {
    const loc = ["path", "userId", 3];
    const detail = [{ loc, msg: `bad https://h?x=1 ${testKey}`, type: "oops", input: "x" }];
    const { requestUser } = await start((_request, response) =>
      answerJson(response, { detail }, 422),
    );
    const validation = [{ loc, msg: "bad https://h/[masked] [secret]", type: "oops" }];
    expect(await requestUser()).toMatchObject({ reason: "http_error", status: 422, validation });
  });

  it("distinguishes a missing operation from an unknown id", async () => {
    const { request, requestUser } = await start((sent, response) => {
      const isUser = sent.url?.startsWith("/user/") ?? false;
      answerJson(response, { detail: isUser ? "No user of this id" : "Not Found" }, 404);
    });
    expect(await requestUser()).toMatchObject({ status: 404, problem: null });
    const missing = { status: 404, problem: "operation_missing" };
    expect(await request("universes", {})).toMatchObject(missing);
  });

  it("is one of at most eight, and ends when sandwatch stops", async () => {
    const { requestUser, limits, clock, stop } = await start(() => {});
    const sent = requestUser();
    limits.pause(target, clock.now().monotonicMs + 1_000);
    const waiting = Promise.allSettled(Array.from({ length: 7 }, requestUser));
    await expect(requestUser()).rejects.toThrow("8 look-ups are already in progress");
    stop.abort();
    expect(await sent).toMatchObject({ reason: "network", detail: "stopped" });
    await waiting;
    await expect(requestUser()).rejects.toThrow("sandwatch is stopping");
    expect(clock.armed).toBe(0);
  });

  it("is sent again over a dead connection only within the retries of the polls", async () => {
    const served = new WeakSet<object>();
    const endEachAtItsSecond: Handler = (request, response) => {
      if (served.has(request.socket)) return void request.socket.resetAndDestroy();
      served.add(request.socket);
      answerUser(request, response);
    };
    const second = async (share: number) => {
      const budget = createRetryBudget(share);
      const { requestUser, clock } = await start(endEachAtItsSecond, { budget });
      await requestUser();
      await nextTurn();
      clock.advance(2_000);
      return requestUser();
    };
    expect(await second(0.5)).toMatchObject({ outcome: "answered" });
    expect(await second(0.1)).toMatchObject({ outcome: "failed", reason: "network" });
  });

  it("reads no response that is larger than allowed", async () => {
    const answer: Handler = (_request, response) => answerJson(response, "x".repeat(2_000));
    const { request } = await start(answer, { maxBodyBytes: 1_000 });
    expect(await request("universe-data", { id: "x" })).toMatchObject({ reason: "too_large" });
  });

  it.each([
    ["users", {}, "operation: user, universes, universe-data, white-label, sandboxes"],
    ["user", {}, "user requires an id."],
    ["universes", { id: "x" }, "universes is looked up as a whole, without an id."],
    ["user", { id: ".." }, "other than . and .."],
    ["user", { id: "\ud800" }, "other than . and .."],
    ["user", { id: "x".repeat(1_001) }, "1 to 1000 characters"],
    ["user", { id: "x", show_secrets: "yes" }, "show_secrets: true or false"],
    ["user", { id: "x", regions: "us" }, "regions: nothing: there is no such field"],
  ])("is refused for %s %j, which costs no token", async (word, query, message) => {
    const { request, limits, peer } = await start(answerUser);
    await expect(request(word, query)).rejects.toThrow(message);
    expect(peer.paths).toEqual([]);
    limits.admitNow(target);
    expect(limits.admitNow(target)).not.toBeNull();
  });
});

describe("the target of a call", () => {
  const usResearch = { region: "us", key: "research" };
  const euResearch = { region: "eu", key: "research" };
  const euTraining = { region: "eu", key: "training" };
  const all = [usResearch, euResearch, euTraining];
  const apiKey = new Secret("key");
  const keys = ["research", "training"].map((name) => ({ name, apiKey }));
  const choose = (choice: Parameters<typeof chooseTarget>[1], targets = all) =>
    chooseTarget({ targets, keys }, choice).target;

  it("need only be chosen if there are several", () => {
    expect(choose({}, all.slice(0, 1))).toBe(usResearch);
    expect(choose({ region: "us" })).toBe(usResearch);
    expect(choose({ key: "training" })).toBe(euTraining);
    expect(choose({ region: "eu", key: "research" })).toBe(euResearch);
  });

  it.each([
    [{}, /^Several targets match.*: us\/research, eu\/research, eu\/training\.$/],
    [{ region: "eu" }, /^Several targets match.*: eu\/research, eu\/training\.$/],
    [{ region: "su" }, /^No target matches.*: us\/research, eu\/research, eu\/training\.$/],
    [{ region: "us", key: "training" }, /^No target matches.*\(--region, --key\): us\/research, /],
  ])("is not chosen by %j", (choice, message) => {
    expect(() => choose(choice)).toThrow(message);
  });
});
