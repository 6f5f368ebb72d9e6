import type { Verdict } from "../../../src/alerts/judge.ts";
import { noSuppressions, type Suppressions } from "../../../src/alerts/silence.ts";
import type { FailureReason } from "../../../src/fleet/model.ts";
import { createRetryBudget, retryShare } from "../../../src/lib/retry.ts";
import { Secret } from "../../../src/lib/secret.ts";
import { createCommitLoop } from "../../../src/polling/commit-loop.ts";
import { KeyLimits } from "../../../src/polling/key-limits.ts";
import { Runner } from "../../../src/polling/runner.ts";
import { createTargetUnits } from "../../../src/polling/poll.ts";
import type { Listed } from "../../../src/polling/poll.ts";
import type { CallResult, ListingCall, TakenListing } from "../../../src/service/client.ts";
import { failure } from "../../../src/service/failure.ts";
import type { CallFailure } from "../../../src/service/failure.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { judgeBy, research, watchFleet } from "../../support/fleet.ts";
import { readListing } from "../../support/listing.ts";
import type { Listing } from "../../support/listing.ts";
import { captureLog } from "../../support/capture-log.ts";

export const second = 1_000;
export const minute = 60 * second;

export type Answer = { readonly kind: "listed"; readonly listing: Listing } | CallFailure;

export function listed(value: Listing): Answer {
  return { kind: "listed", listing: value };
}

export function failed(reason: FailureReason, retryAfterMs: number | null = null): CallFailure {
  return failure(reason, reason, { retryAfterMs });
}

function toResult(answer: Answer): CallResult<TakenListing> {
  if (answer.kind === "failed") return answer;
  const listing = readListing(answer.listing);
  const partial = listing.complete ? null : "some sandboxes are missing";
  const value = { listing, partial, unkept: { count: 0, first: [] } };
  return { kind: "ok", value, status: 200, deviations: [] };
}

/** A store in which nothing is written by others. */
export const unshared = {
  targets: { some: () => Promise.resolve([]), async *snapshotsOf() {} },
  commitIncidents: () => Promise.resolve(),
};

/** Polling of one target whose service and store are as the test says at each moment. */
export function startPolling(
  answer: () => Answer | Promise<Answer>,
  schedule: Parameters<typeof createTargetUnits>[1]["schedule"] = {
    kind: "every",
    ms: 30 * second,
  },
) {
  const clock = createFakeClock();
  const { watched } = watchFleet();
  const heard: string[] = [];
  const committed: Verdict[] = [];
  const calls: Pick<ListingCall, "before" | "poll">[] = [];
  const world = {
    commit: (_verdict: Verdict): Promise<void> => Promise.resolve(),
    suppressions: (): Suppressions => noSuppressions,
  };
  const { log, lines } = captureLog();
  const store = {
    ...unshared,
    async commitPoll(targetId: number, verdict: Verdict) {
      heard.push(`commit ${targetId}`);
      await world.commit(verdict);
      committed.push(verdict);
    },
  };
  const commits = createCommitLoop(log);
  commits.onOutbox((causedAtMs) => heard.push(`outbox ${causedAtMs}`));
  const [unit] = createTargetUnits([watched], {
    apiKeys: new Map([[research.key, new Secret("T0PSECRET")]]),
    schedule,
    service: {
      async listSandboxes({ before, poll }) {
        calls.push({ before, poll });
        return toResult(await answer());
      },
    },
    recordDrift() {},
    judge: judgeBy(),
    suppressions: { at: () => world.suppressions() },
    regions: { wake() {} },
    pools: { isPooled: () => false, judge: async () => {}, lose() {} },
    store,
    commits,
    metrics: {
      polled: ({ target: { region } }, reason, durationMs) =>
        heard.push(`polled ${region} ${reason ?? "ok"} ${durationMs}`),
      committed: ({ state }, { progress }) =>
        heard.push(`committed ${state.progress === progress}`),
      lost: () => heard.push("lost"),
    },
    log,
    clock,
  });
  if (!unit) throw new Error("a target with a key is polled");
  const other = { ...unit, name: "another" };
  const polling = new Runner<Listed>(
    {
      loop: "polls",
      limits: new KeyLimits(clock, { requests: 1_000, perMs: second }),
      budget: createRetryBudget(retryShare),
      random: () => 0.5,
      runs: new Map(),
      ticking: { clock, log },
      clock,
    },
    [unit, other],
  );
  return {
    clock,
    polling,
    watched,
    world,
    committed,
    calls,
    lines,
    poll: (lengthMs: number = 30 * second): Promise<void> =>
      polling.run(unit, clock.now().monotonicMs + lengthMs),
    /** Polls the same target as a unit of its own. */
    pollOther: (): Promise<void> => polling.run(other, clock.now().monotonicMs + 30 * second),
    /** What happened since the last time. */
    heard: (): readonly string[] => heard.splice(0),
  };
}
