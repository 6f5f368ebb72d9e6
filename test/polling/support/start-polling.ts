import type { Verdict } from "../../../src/core/judge.ts";
import { createPoolWatch } from "../../../src/core/pool-watch.ts";
import type { FailureReason, Target } from "../../../src/core/model.ts";
import { Secret } from "../../../src/platform/secret.ts";
import { createCallListing } from "../../../src/polling/call-listing.ts";
import { createKeyLimits } from "../../../src/polling/key-limits.ts";
import type { CallFailure, CallSuccess } from "../../../src/polling/listing-caller.ts";
import { createPolling } from "../../../src/polling/polling.ts";
import type { ListingCall } from "../../../src/service/client.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { judgeBy, research, watchFleet } from "../../support/fleet.ts";
import { readListing } from "../../support/listing.ts";
import type { Listing } from "../../support/listing.ts";
import { nothingUnkept } from "../../../src/service/unkept.ts";

export const second = 1_000;
export const minute = 60 * second;

export type Answer = { readonly kind: "listed"; readonly listing: Listing } | CallFailure;

export function listed(value: Listing): Answer {
  return { kind: "listed", listing: value };
}

function toResult(answer: Answer): CallSuccess | CallFailure {
  if (answer.kind === "failed") return answer;
  const listing = readListing(answer.listing);
  const partial = listing.complete ? null : "some sandboxes are missing";
  return { kind: "ok", value: { listing, partial, unkept: nothingUnkept } };
}

export function failed(reason: FailureReason, retryAfterMs: number | null = null): CallFailure {
  return { kind: "failed", reason, status: null, retryAfterMs, detail: reason };
}

/** Polling of one target whose service and store are as the test says at each moment. */
export function startPolling(
  answer: () => Answer | Promise<Answer>,
  firstRoundMs: number = 30 * second,
) {
  const clock = createFakeClock();
  const { watched } = watchFleet();
  const told: string[] = [];
  const committed: Verdict[] = [];
  const store = { commit: (_verdict: Verdict): Promise<void> => Promise.resolve() };
  const calls: Pick<ListingCall, "before" | "poll">[] = [];
  let lulls = 0;
  const polling = createPolling({
    targets: [{ watched, apiKey: new Secret("T0PSECRET") }],
    callListing: createCallListing({
      clock,
      random: () => 0.5,
      limits: createKeyLimits(clock, { requests: 1_000, perMs: second }),
      service: {
        async listSandboxes({ before, poll }) {
          calls.push({ before, poll });
          return toResult(await answer());
        },
      },
    }),
    async commit(targetId, verdict) {
      told.push(`commit ${targetId}`);
      await store.commit(verdict);
      committed.push(verdict);
    },
    onLull: () => void (lulls += 1),
    judge: judgeBy(),
    rounds: { usualMs: 30 * second, firstMs: firstRoundMs },
    pools: createPoolWatch({ rules: [], targets: [], openIncidents: [], clocks: [] }),
    clock,
    onOutbox: (causedAtMs) => told.push(`outbox ${causedAtMs}`),
    observer: {
      polled: (target, failure, durationMs) =>
        told.push(`polled ${target.region} ${failure?.reason ?? "ok"} ${durationMs}`),
      listed() {},
      committed(shown, verdict) {
        told.push(`committed ${shown.state.progress === verdict.progress}`);
      },
      refused: (_target, retryMs) => told.push(`refused ${retryMs / minute}`),
      turnFailed: (_target, error) => told.push(`turn failed: ${String(error)}`),
    },
  });
  const turn = (target: Target = research, lengthMs: number = 30 * second): Promise<void> =>
    polling.poll(target, clock.now().monotonicMs + lengthMs);
  /** What was told since the last time. */
  const heard = (): readonly string[] => told.splice(0);
  return {
    clock,
    polling,
    watched,
    store,
    committed,
    turn,
    heard,
    calls,
    requests: () => calls.length,
    lulls: () => lulls,
  };
}
