import type { IncomingMessage, ServerResponse } from "node:http";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { failureReasons } from "../../src/fleet/model.ts";
import type { ProbeVerdict } from "../../src/alerts/judge-probe.ts";
import type { Probe } from "../../src/alerts/probe.ts";
import { createRetryBudget } from "../../src/lib/retry.ts";
import { noSuppressions } from "../../src/alerts/silence.ts";
import { Secret } from "../../src/lib/secret.ts";
import { createKeyLimits } from "../../src/polling/key-limits.ts";
import { callProbe, createProbeUnits } from "../../src/polling/probe-unit.ts";
import { createRunner } from "../../src/polling/runner.ts";
import { watchProbe } from "../../src/polling/watched-probe.ts";
import { answerJson, createTestClient, startPeer } from "../service/peer.ts";
import { captureLog } from "../support/capture-log.ts";
import { judgeProbesBy, login, neverRun, probeFailing } from "../support/probes.ts";

const second = 1_000;
const minute = 60 * second;

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

const user = (lastUsedAt: unknown): Answer => {
  return (response) => answerJson(response, { userId: "u", createdAt: "then", lastUsedAt });
};

/** A probe of a service that answers as the test says at each moment, over HTTP. */
async function start(answer: Answer, more: Partial<Probe> = {}) {
  const world = { answer, commit: (): Promise<void> => Promise.resolve() };
  const peer = await startPeer((request, response) => world.answer(response, request));
  const { client, clock } = createTestClient(peer.baseUrl);
  const probe: Probe = { ...login, ...more };
  const watched = watchProbe(probe, neverRun(probe), 3);
  const heard: string[] = [];
  const verdicts: ProbeVerdict[] = [];
  const limits = createKeyLimits(clock, { requests: 1_000, perMs: second });
  const { log, lines } = captureLog();
  const commitRun = async (id: number, verdict: ProbeVerdict): Promise<void> => {
    await world.commit();
    heard.push(`commit ${id}`);
    verdicts.push(verdict);
  };
  const [unit] = createProbeUnits([watched], {
    apiKeys: new Map([[watched.subject.key, new Secret("T0PSECRET")]]),
    targets: [],
    service: client,
    judge: judgeProbesBy([{ ...probeFailing, for: { kind: "polls", polls: 1 } }]),
    suppressions: { at: () => noSuppressions },
    store: { probes: { commitRun } },
    notifier: {
      wake: () => heard.push(`outbox ${watched.progress === verdicts.at(-1)?.progress}`),
    },
    metrics: { lost: () => heard.push("lost") },
    log,
    clock,
  });
  if (!unit) throw new Error("a probe with a key is run");
  const probing = createRunner([unit], {
    loop: "probes",
    limits,
    budget: createRetryBudget(0),
    random: () => 0.5,
    watchdog: { turn() {} },
    ticking: { clock, log },
    store: { commitGathered() {} },
    clock,
  });
  return {
    world,
    peer,
    clock,
    limits,
    watched,
    probing,
    heard,
    lines,
    run: (): Promise<void> => probing.run(unit, clock.now().monotonicMs + minute),
    last: () => verdicts.at(-1)?.result,
    figures: () => watched.readings,
  };
}

describe("a run", () => {
  it("calls, commits, and shows only then, and wakes delivery after a commit with notifications", async () => {
    const { run, heard, world, last, watched } = await start(user(null));
    await run();
    expect(heard.splice(0)).toEqual(["commit 1"]);
    expect(watched.progress.attempted.polls).toBe(1);
    world.answer = (response) => answerJson(response, {}, 404);
    await run();
    expect(heard).toEqual(["commit 1", "outbox true"]);
    expect(last()).toMatchObject({
      reason: "http_error",
      detail: "HTTP 404: this id is unknown",
    });
  });

  it.each([
    ["2026-02-16T12:45:25.770231-08:00", Date.UTC(2026, 1, 16, 20, 45, 25, 770)],
    ["2026-02-16T12:45:25Z", Date.UTC(2026, 1, 16, 12, 45, 25)],
    ["2026-02-16T12:45:25", null],
    ["yesterday", null],
    ["2026-99-99T99:99:99Z", null],
    [null, null],
    [1_771_245_925, null],
  ])("reads that a user was last used at %j", async (lastUsedAt, atMs) => {
    const { run, figures } = await start(user(lastUsedAt));
    await run();
    expect(figures().lastUsedAtMs).toBe(atMs);
  });

  it("honours Retry-After for every call in that region", async () => {
    const { run, last, limits, watched, clock, peer } = await start((response) => {
      response.writeHead(429, { "retry-after": "300" }).end();
    });
    await run();
    expect(last()).toMatchObject({ reason: "rate_limited", detail: "HTTP 429" });
    await run();
    expect(last()).toMatchObject({ reason: "rate_limited", detail: "nothing was sent" });
    expect(peer.paths).toHaveLength(1);
    expect(limits.admitNow(watched.subject)).toBeNull();
    clock.advance(300 * second);
    expect(limits.admitNow(watched.subject)).not.toBeNull();
  });

  it("that is not stored counts for nothing, and the next one decides again", async () => {
    const { run, heard, world, watched, lines } = await start((response) =>
      answerJson(response, {}, 404),
    );
    world.commit = () => Promise.reject(new Error("disk full"));
    await run();
    await run();
    expect(heard).toEqual(["lost", "lost"]);
    expect(watched).toMatchObject({ lostRuns: 2, progress: { attempted: { polls: 0 } } });
    expect(lines).toMatchObject([{ level: "error", event: "probe.lost", probe: "login" }]);
    world.commit = () => Promise.resolve();
    await run();
    expect(heard.slice(2)).toEqual(["commit 1", "outbox true"]);
    expect(watched.lostRuns).toBe(0);
    expect(lines.slice(1).map(({ event }) => event)).toEqual([
      "probe.kept",
      "probe.failed",
      "incident.fired",
    ]);
  });
});

describe("a key that is refused", () => {
  const refuse: Answer = (response) => answerJson(response, {}, 403);

  it("is called at every run when that is what is expected", async () => {
    const { run, peer, last } = await start(refuse, { expect: { ...login.expect, status: 403 } });
    for (let time = 0; time < 3; time += 1) await run();
    expect(last()?.reason).toBeNull();
    expect(peer.paths).toHaveLength(3);
  });
});

it("any answer whatsoever of any operation ends in a result, never in a fault", async () => {
  const bodies = fc.oneof(
    fc.json(),
    fc.string({ unit: "binary" }),
    fc
      .json()
      .map((text) => `{"universes":[${text}],"success":${text},"local_sandboxes":[${text}]}`),
  );
  const operations = fc.constantFrom(
    "get_user",
    "list_universes",
    "get_universe_data",
    "get_white_label",
    "list_sandboxes",
  );
  const statuses = fc.oneof(
    { weight: 4, arbitrary: fc.constant(200) },
    fc.constantFrom(204, 404, 422, 500),
  );
  const fields = [{ path: ["universes", "0"], must: { be: "present" } as const }];
  await fc.assert(
    fc.asyncProperty(operations, statuses, bodies, async (operation, status, body) => {
      const expected = { status: 200, success: true, atLeast: 1, fields };
      const { run, last, heard } = await start(
        (response) => response.writeHead(status).end(status === 204 ? "" : body),
        { operation, id: "a", expect: expected },
      );
      await run();
      expect([null, "unmet", ...failureReasons]).toContain(last()?.reason);
      expect(heard).not.toContain("lost");
    }),
    { numRuns: 40 },
  );
});

it("a listing of which fields are expected is held as a whole, and its sandboxes are counted alike", async () => {
  const box = { local_sandbox_id: "a", created_at: "then", status: "idle", servers: [] };
  const boxes = [box, { ...box, status: "error" }, { ...box, local_sandbox_id: "" }, 7];
  const listing = {
    local_sandboxes: [...boxes, { ...box, local_sandbox_id: "b" }],
    total_count: 5,
  };
  const peer = await startPeer((_, response) => answerJson(response, listing));
  const { client, call } = createTestClient(peer.baseUrl);
  const fields = [{ path: ["total_count"], must: { be: "equal", to: 5 } as const }];
  const sandboxes = { operation: "list_sandboxes", id: null } as const;
  const counted = await callProbe(
    client,
    { ...sandboxes, expect: { ...login.expect, fields: [] } },
    call,
  );
  expect(counted).toMatchObject({ outcome: { kind: "read", content: null, listed: 2 } });
  const whole = await callProbe(
    client,
    { ...sandboxes, expect: { ...login.expect, fields } },
    call,
  );
  expect(whole).toMatchObject({ outcome: { kind: "read", content: listing, listed: 2 } });
});
