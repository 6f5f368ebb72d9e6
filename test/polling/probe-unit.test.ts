import type { ServerResponse } from "node:http";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { failureReasons, operations } from "../../src/fleet/model.ts";
import type { ProbeVerdict } from "../../src/alerts/judge-probe.ts";
import type { Probe } from "../../src/alerts/probe.ts";
import { createRetryBudget } from "../../src/lib/retry.ts";
import { noSuppressions } from "../../src/alerts/silence.ts";
import { Secret } from "../../src/lib/secret.ts";
import { createCommitLoop } from "../../src/polling/commit-loop.ts";
import { KeyLimits } from "../../src/polling/key-limits.ts";
import { callProbe, createProbeUnits } from "../../src/polling/probe-unit.ts";
import type { Answered } from "../../src/polling/probe-unit.ts";
import { Runner } from "../../src/polling/runner.ts";
import { watchProbe } from "../../src/polling/watched-probe.ts";
import { answerJson, createTestClient, startPeer } from "../service/peer.ts";
import { captureLog } from "../support/capture-log.ts";
import { judgeProbesBy, login, neverRun, probeFailing } from "../support/probes.ts";

const second = 1_000;

type Answer = (response: ServerResponse) => void;

const user =
  (lastUsedAt: unknown): Answer =>
  (response) =>
    answerJson(response, { userId: "u", createdAt: "then", lastUsedAt });
const status =
  (code: number): Answer =>
  (response) =>
    answerJson(response, {}, code);

/** A probe of a service that answers as the test says at each moment, over HTTP. */
async function start(answer: Answer, more: Partial<Probe> = {}) {
  const world = { answer, commit: (): Promise<void> => Promise.resolve() };
  const peer = await startPeer((_, response) => world.answer(response));
  const { client, clock } = createTestClient(peer.baseUrl);
  const probe: Probe = { ...login, ...more };
  const watched = watchProbe(probe, neverRun(probe), 3);
  const heard: string[] = [];
  const verdicts: ProbeVerdict[] = [];
  const drift: string[] = [];
  const limits = new KeyLimits(clock, { requests: 1_000, perMs: second });
  const { log, lines } = captureLog();
  const commitRun = async (id: number, verdict: ProbeVerdict): Promise<void> => {
    await world.commit();
    heard.push(`commit ${id}`);
    verdicts.push(verdict);
  };
  const commits = createCommitLoop(log);
  commits.onOutbox(() => heard.push(`outbox ${watched.progress === verdicts.at(-1)?.progress}`));
  const [unit] = createProbeUnits([watched], {
    apiKeys: new Map([[watched.subject.key, new Secret("T0PSECRET")]]),
    targets: [],
    service: client,
    recordDrift: ({ operation, deviations }) =>
      drift.push(...deviations.map(({ field }) => `${operation} ${field}`)),
    judge: judgeProbesBy([{ ...probeFailing, for: { kind: "polls", polls: 1 } }]),
    suppressions: { at: () => noSuppressions },
    store: { probes: { commitRun } },
    commits,
    metrics: { lost: () => heard.push("lost") },
    log,
    clock,
  });
  if (!unit) throw new Error("a probe with a key is run");
  const probing = new Runner<Answered>(
    {
      loop: "probes",
      limits,
      budget: createRetryBudget(0),
      random: () => 0.5,
      runs: new Map(),
      ticking: { clock, log },
      clock,
    },
    [unit],
  );
  return {
    world,
    peer,
    clock,
    limits,
    watched,
    lines,
    drift,
    /** What happened since the last time. */
    heard: () => heard.splice(0),
    run: async (times = 1): Promise<void> => {
      for (let time = 0; time < times; time += 1) {
        await probing.run(unit, clock.now().monotonicMs + 60 * second);
      }
    },
    last: () => verdicts.at(-1)?.result,
  };
}

it("a run calls, commits, and shows only then, and wakes delivery after a commit with notifications", async () => {
  const { run, heard, world, last, watched } = await start(user(null));
  await run();
  expect(heard()).toEqual(["commit 1"]);
  expect(watched.progress.attempted.polls).toBe(1);
  world.answer = status(404);
  await run();
  expect(heard()).toEqual(["commit 1", "outbox true"]);
  expect(last()).toMatchObject({ reason: "http_error", detail: "HTTP 404: this id is unknown" });
});

it.each([
  ["2026-02-16T12:45:25.770231-08:00", Date.UTC(2026, 1, 16, 20, 45, 25, 770)],
  ["2026-02-16T12:45:25Z", Date.UTC(2026, 1, 16, 12, 45, 25)],
  ["2026-02-16T12:45:25", null],
  ["2026-99-99T99:99:99Z", null],
  [null, null],
  [1_771_245_925, null],
])("a run reads that a user was last used at %j", async (lastUsedAt, atMs) => {
  const { run, watched } = await start(user(lastUsedAt));
  await run();
  expect(watched.readings.lastUsedAtMs).toBe(atMs);
});

it("a run records how its response deviates", async () => {
  const { run, drift } = await start((response) =>
    answerJson(response, { userId: "u", createdAt: "t", odd: 1 }),
  );
  await run();
  expect(drift).toEqual(["get_user odd"]);
});

it("a run honours Retry-After for every call in that region", async () => {
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

it("a run that is not stored counts for nothing, and the next one decides again", async () => {
  const { run, heard, world, watched, lines } = await start(status(404));
  world.commit = () => Promise.reject(new Error("disk full"));
  await run(2);
  expect(heard()).toEqual(["lost", "lost"]);
  expect(watched).toMatchObject({ lostRuns: 2, progress: { attempted: { polls: 0 } } });
  world.commit = () => Promise.resolve();
  await run();
  expect(heard()).toEqual(["commit 1", "outbox true"]);
  expect(watched.lostRuns).toBe(0);
  expect(lines.map(({ event }) => event)).toEqual([
    "probe.lost",
    "probe.kept",
    "probe.failed",
    "incident.fired",
  ]);
});

it("a key that is refused is called at every run when that is what is expected", async () => {
  const { run, peer, last } = await start(status(403), {
    expect: { ...login.expect, status: 403 },
  });
  await run(3);
  expect([last()?.reason, peer.paths.length]).toEqual([null, 3]);
});

it("any answer whatsoever of any operation ends in a result, never in a fault", async () => {
  const wrapped = (text: string) =>
    `{"universes":[${text}],"success":${text},"local_sandboxes":[${text}]}`;
  const bodies = fc.oneof(fc.json(), fc.string({ unit: "binary" }), fc.json().map(wrapped));
  const statuses = fc.constantFrom(200, 200, 200, 200, 204, 404, 422, 500);
  const fields = [{ path: ["universes", "0"], must: { be: "present" } as const }];
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...operations),
      statuses,
      bodies,
      async (operation, code, body) => {
        const { run, last, heard } = await start(
          (response) => response.writeHead(code).end(code === 204 ? "" : body),
          { operation, id: "a", expect: { status: 200, success: true, atLeast: 1, fields } },
        );
        await run();
        expect([null, "unmet", ...failureReasons]).toContain(last()?.reason);
        expect(heard()).not.toContain("lost");
      },
    ),
    { numRuns: 40 },
  );
});

it("a listing of which fields are expected is held as a whole, and its sandboxes are counted alike", async () => {
  const box = { local_sandbox_id: "a", created_at: "then", status: "idle", servers: [] };
  const odd = [{ ...box, status: "error" }, { ...box, local_sandbox_id: "" }, 7];
  const local_sandboxes = [box, ...odd, { ...box, local_sandbox_id: "b" }];
  const listing = { local_sandboxes, total_count: 5 };
  const peer = await startPeer((_, response) => answerJson(response, listing));
  const { client, call } = createTestClient(peer.baseUrl);
  const totalCount = { path: ["total_count"], must: { be: "equal", to: 5 } } as const;
  for (const [fields, content] of [
    [[], null],
    [[totalCount], listing],
  ] as const) {
    const probe = {
      operation: "list_sandboxes",
      id: null,
      expect: { ...login.expect, fields },
    } as const;
    const outcome = { kind: "read", content, listed: 2 };
    expect(await callProbe(client, probe, call)).toMatchObject({ outcome });
  }
});
