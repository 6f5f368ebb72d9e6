import { setImmediate as settle } from "node:timers/promises";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { failureReasons } from "../../src/fleet/model.ts";
import type { FailureReason, Target } from "../../src/fleet/model.ts";
import { createRetryBudget, retryShare } from "../../src/lib/retry.ts";
import { seededRandom } from "../../src/lib/random.ts";
import type { Random } from "../../src/lib/random.ts";
import { callWithRetries } from "../../src/polling/call-with-retries.ts";
import { createKeyLimits } from "../../src/polling/key-limits.ts";
import type { CallFailure } from "../../src/service/failure.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { failed } from "./support/start-polling.ts";

const target: Target = { region: "us", key: "research" };

const ok = { kind: "ok" } as const;

/** What the service does with its n-th request; it takes `tookMs` unless it is stopped before. */
type Script = (request: number) => {
  readonly result: typeof ok | CallFailure;
  readonly tookMs?: number;
};

function start(script: Script, { random = (): number => 0.5 }: { random?: Random } = {}) {
  const clock = createFakeClock();
  const startedMs = clock.now().monotonicMs;
  const sent: number[] = [];
  const stop = new AbortController();
  const stopped = failed("network");
  const limits = createKeyLimits(clock, { requests: 100, perMs: 1_000 });
  const deps = { clock, random, limits, budget: createRetryBudget(retryShare) };
  const makeCall = (deadlineMs: number) =>
    callWithRetries(deps, target, { deadlineMs, signal: stop.signal }, ({ signal }) => {
      const { result, tookMs = 0 } = script(sent.length);
      sent.push(clock.now().monotonicMs - startedMs);
      return new Promise<typeof ok | CallFailure>((resolve) => {
        if (signal.aborted) return resolve(stopped);
        if (tookMs === 0) return resolve(result);
        const cancel = clock.setTimer(tookMs, () => resolve(result));
        const end = (): void => (cancel(), resolve(stopped));
        signal.addEventListener("abort", end, { once: true });
      });
    });
  const call = async (deadlineMs: number) => {
    const ended: { outcome: Awaited<ReturnType<typeof makeCall>>; endedMs: number }[] = [];
    const end = async (): Promise<void> => {
      const outcome = await makeCall(startedMs + deadlineMs);
      ended.push({ outcome, endedMs: clock.now().monotonicMs - startedMs });
    };
    const running = end();
    for (await settle(); ended.length === 0; await settle()) clock.advance(10);
    await running;
    const [first] = ended;
    if (!first) throw new Error("the call did not end");
    return first;
  };
  /** Successful polls, so that there are retries to spend. */
  const saveRetries = async (): Promise<void> => {
    for (let request = 0; request < 30; request += 1) await call(1_000_000);
    sent.length = 0;
  };
  const now = (): number => clock.now().monotonicMs - startedMs;
  return { clock, makeCall, sent, stop, call, saveRetries, now, startedMs };
}

/** Thirty successes first, then the script. */
function afterSaving(script: Script): Script {
  let saved = 0;
  return (request) => (saved++ < 30 ? { result: ok } : script(request));
}

describe("which failures are tried again", () => {
  const table: Record<FailureReason, boolean> = {
    timeout: true,
    network: true,
    rate_limited: true,
    server_error: true,
    auth: false,
    http_error: false,
    invalid_body: false,
    too_large: false,
  };

  it.each(failureReasons)("%s", async (reason) => {
    const service = start(
      afterSaving((request) => ({ result: request === 0 ? failed(reason) : ok })),
    );
    await service.saveRetries();
    const { outcome } = await service.call(service.now() + 30_000);
    expect(service.sent.length).toBe(table[reason] ? 2 : 1);
    expect(outcome).toEqual(table[reason] ? ok : failed(reason));
  });
});

describe("retries", () => {
  it("wait for a random part of a time that doubles", async () => {
    const service = start(
      afterSaving(() => ({ result: failed("server_error") })),
      {
        random: () => 0.8,
      },
    );
    await service.saveRetries();
    await service.call(service.now() + 60_000);
    const gaps = service.sent.slice(1).map((at, index) => at - (service.sent[index] ?? 0));
    expect(gaps).toEqual([400, 800, 1_600]);
  });

  it("end before the next poll even when they hang, and the call ends as the failure before", async () => {
    const service = start(
      afterSaving((request) =>
        request === 0 ? { result: failed("server_error") } : { result: ok, tookMs: 60_000 },
      ),
    );
    await service.saveRetries();
    const nextPollMs = service.now() + 10_000;
    const { outcome, endedMs } = await service.call(nextPollMs);
    expect(service.sent.length).toBe(2);
    expect(outcome).toEqual(failed("server_error"));
    expect(endedMs).toBeLessThan(nextPollMs);
    expect(service.clock.armed).toBe(0);
  });

  it("are at most a tenth of all requests, however long everything fails", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer(),
        fc.double({ min: 0.5, max: 1, noNaN: true }),
        async (seed, failing) => {
          const random = seededRandom(seed);
          const service = start(
            () => ({ result: random() < failing ? failed("server_error") : ok }),
            { random },
          );
          const polls = 300;
          for (let poll = 0; poll < polls; poll += 1) {
            await service.call(service.now() + 30_000);
          }
          const retries = service.sent.length - polls;
          expect(retries).toBeGreaterThan(10);
          expect(retries).toBeLessThanOrEqual(service.sent.length / 10);
        },
      ),
      { numRuns: 3 },
    );
  });
});

describe("Retry-After", () => {
  it("is waited out in full before a retry within the poll", async () => {
    const service = start(
      afterSaving((request) => ({ result: request === 0 ? failed("rate_limited", 7_000) : ok })),
    );
    await service.saveRetries();
    const begunMs = service.now();
    const { outcome } = await service.call(begunMs + 30_000);
    expect(outcome.kind).toBe("ok");
    expect(service.sent).toEqual([begunMs, begunMs + 7_000]);
    expect(service.clock.armed).toBe(0);
  });

  it("beyond the next poll: nothing is sent until it has passed", async () => {
    const service = start((request) => ({
      result: request === 0 ? failed("server_error", 70_000) : ok,
    }));
    const outcomes: string[] = [];
    for (const pollMs of [0, 30_000, 60_000, 90_000]) {
      service.clock.advance(pollMs - service.now());
      const { outcome } = await service.call(pollMs + 30_000);
      outcomes.push(outcome.kind);
    }
    expect(outcomes).toEqual(["failed", "not_sent", "ok", "ok"]);
    expect(service.sent).toEqual([0, 70_000, 90_000]);
  });
});

describe("stopping", () => {
  const hanging: ReturnType<Script> = { result: ok, tookMs: 60_000 };

  it.each<readonly [what: string, script: Script, sent: number]>([
    ["a call", () => hanging, 1],
    ["the wait for a retry", () => ({ result: failed("network", 60_000) }), 1],
    ["a retry", (request) => (request === 0 ? { result: failed("network") } : hanging), 2],
  ])("ends %s at once and leaves no timer", async (_, script, sent) => {
    const service = start(afterSaving(script));
    await service.saveRetries();
    const deadlineMs = service.clock.now().monotonicMs + 300_000;
    const poll = service.makeCall(deadlineMs);
    await settle();
    service.clock.advance(1_000);
    await settle();
    service.stop.abort();
    expect(await poll).toEqual({ kind: "stopped" });
    expect([service.sent.length, service.clock.armed]).toEqual([sent, 0]);
  });
});
