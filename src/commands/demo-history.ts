import { nothingUnkept } from "../service/unkept.ts";
import { setImmediate } from "node:timers/promises";
import type { Config } from "../config/config.ts";
import { configuredTargets } from "../config/configured-targets.ts";
import { noInterventions } from "../core/interventions.ts";
import type { JudgeOptions, Verdict } from "../core/judge.ts";
import { targetName } from "../core/model.ts";
import type { Target } from "../core/model.ts";
import { phaseOf } from "../core/schedule.ts";
import type { Clock } from "../platform/clock.ts";
import type { TurnOutcome } from "../polling/call-listing.ts";
import { createPolling } from "../polling/polling.ts";
import type { Polling, PollingObserver } from "../polling/polling.ts";
import { restorePools } from "../polling/restore-pools.ts";
import { restoreTargets } from "../polling/restore-targets.ts";
import { identityOf, uuidOf } from "../simulator/hash.ts";
import { listDirectly } from "../simulator/list-directly.ts";
import { troublesOf } from "../simulator/troubles.ts";
import type { World } from "../simulator/world.ts";
import { openStore } from "../store/store.ts";
import type { Store } from "../store/store.ts";

export interface HistoryOptions {
  readonly config: Config;
  readonly seed: number;
  readonly world: World;
  /** In each listing. */
  readonly servers: number;
  readonly days: number;
  /** Up to when; asked again and again, as time passes while it is made. UTC milliseconds. */
  readonly untilMs: () => number;
  /** How much of it is made, from 0 to 1. */
  readonly onProgress: (share: number) => void;
  readonly signal: AbortSignal;
}

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

const possibleIntervals = [10, 15, 20, 30, 60, 120, 180, 360].map((minutes) => minutes * minuteMs);
/** What takes a few seconds: so many servers are looked at, and a poll costs as much as some more. */
const mostLooks = 350_000;
const looksOfAPoll = 15;

/** So many polls of a target are written at once. */
const pollsAtOnce = 200;
/** After so many rounds something else has its turn. */
const roundsAtOnce = 20;

/**
 * Fills the store with the past of a simulated world: what the daemon would have kept, had it watched
 * all along. It is judged and committed as any poll is, on a time of its own, and nobody is told.
 *
 * @returns how many polls there were
 * @throws {StoreError} when the store cannot be used
 */
export async function makeHistory(options: HistoryOptions): Promise<number> {
  const { config, untilMs, days, onProgress, signal } = options;
  await using opened = new AsyncDisposableStack();
  const store = openStore(config.store.path, undefined, { isTemporary: true });
  opened.defer(() => store.close());

  const targets = configuredTargets(config);
  const intervalMs = intervalOf(targets.length, options.servers, days);
  const beginMs = untilMs() - days * dayMs;
  const time = createPastTime(beginMs);
  const batches = createBatches(store);
  const polling = await openPolling(options, {
    store,
    targets,
    clock: time,
    commit: (id, verdict) => batches.add(id, verdict),
  });

  let polls = 0;
  const pollAt = async (target: Target, atMs: number): Promise<void> => {
    time.goTo(atMs);
    await polling.poll(target, Number.POSITIVE_INFINITY);
    polls += 1;
  };
  const turns = targets
    .map((target) => ({ target, phaseMs: Math.floor(phaseOf(targetName(target)) * intervalMs) }))
    .toSorted((one, other) => one.phaseMs - other.phaseMs);
  // The rounds are the same ones whenever it ends.
  let roundMs = Math.ceil(beginMs / intervalMs) * intervalMs;
  for (let round = 1; roundMs + intervalMs <= untilMs(); round++, roundMs += intervalMs) {
    for (const { target, phaseMs } of turns) await pollAt(target, roundMs + phaseMs);
    if (round % roundsAtOnce > 0) continue;
    onProgress((roundMs - beginMs) / (untilMs() - beginMs));
    await setImmediate();
    if (signal.aborted) return polls;
  }
  // So that next to nothing is missing before the daemon goes on.
  for (const { target } of turns) await pollAt(target, untilMs());
  await batches.flush();
  return polls;
}

/** The shortest that makes it a matter of seconds. */
function intervalOf(targets: number, servers: number, days: number): number {
  const isShortEnough = (intervalMs: number): boolean =>
    ((days * dayMs) / intervalMs) * targets * (servers + looksOfAPoll) <= mostLooks;
  return possibleIntervals.find(isShortEnough) ?? 360 * minuteMs;
}

/** A clock that somebody else moves on. Nothing here waits. */
function createPastTime(beginMs: number): Clock & { goTo(utcMs: number): void } {
  let nowMs = beginMs;
  return {
    now: () => ({ utcMs: nowMs, monotonicMs: nowMs - beginMs }),
    setTimer: () => () => {},
    goTo: (utcMs) => void (nowMs = Math.max(nowMs, utcMs)),
  };
}

/** Gathers polls until there are enough of a target to be written. */
function createBatches(store: Store) {
  const gathered = new Map<number, Verdict[]>();
  const write = async (targetId: number): Promise<void> => {
    const polls = gathered.get(targetId) ?? [];
    gathered.delete(targetId);
    await store.importPolls(targetId, polls);
  };
  return {
    async add(targetId: number, verdict: Verdict): Promise<void> {
      const polls = gathered.get(targetId) ?? [];
      polls.push(verdict);
      gathered.set(targetId, polls);
      if (polls.length >= pollsAtOnce) await write(targetId);
    },
    async flush(): Promise<void> {
      for (const targetId of gathered.keys()) await write(targetId);
    },
  };
}

interface PollingParts {
  readonly store: Store;
  readonly targets: readonly Target[];
  readonly clock: Clock;
  readonly commit: (targetId: number, verdict: Verdict) => Promise<void>;
}

async function openPolling(
  { config, seed, ...options }: HistoryOptions,
  { store, targets, clock, commit }: PollingParts,
): Promise<Polling> {
  const { rules } = config.alerts;
  const { goneAfter, staleAfter } = config.poll;
  let incidents = 0;
  const judge: JudgeOptions = {
    rules,
    goneAfter,
    interventions: noInterventions,
    newIncidentId: () => uuidOf(identityOf("incident", seed, ++incidents)),
    // Whoever watches now hears of what is wrong now.
    tells: () => false,
  };
  const nowUtcMs = clock.now().utcMs;
  const onRetired = (): void => {};
  const watched = await restoreTargets(store, targets, {
    judge,
    staleAfter,
    restoredForMs: 0,
    nowUtcMs,
    onRetired,
  });
  const pools = await restorePools(store, { rules, targets, judge, nowUtcMs, onRetired });
  const apiKeys = new Map(config.keys.map(({ name, apiKey }) => [name, apiKey]));
  const troubles = new Map(
    targets.map((target) => [targetName(target), troublesOf(seed, target)] as const),
  );
  return createPolling({
    targets: watched.flatMap((each) => {
      const apiKey = apiKeys.get(each.target.key);
      return apiKey ? [{ watched: each, apiKey }] : [];
    }),
    async callListing(target): Promise<TurnOutcome> {
      const { utcMs } = clock.now();
      const trouble = troubles.get(targetName(target))?.(utcMs) ?? null;
      if (trouble !== null && trouble !== "partial") {
        return { kind: "failed", reason: trouble, status: null, retryAfterMs: null, detail: "" };
      }
      const complete = trouble === null;
      const view = { target, utcMs, servers: options.servers, pins: new Map() };
      const sandboxes = listDirectly(options.world.sandboxes(view), complete ? 1 : 0.6);
      const listing = { sandboxes, texts: sandboxes.map(() => null), complete };
      const partial = complete ? null : "simulated";
      return { kind: "ok", value: { listing, partial, unkept: nothingUnkept } };
    },
    commit,
    onLull() {},
    judge,
    pools,
    clock,
    observer: silent,
    onOutbox() {},
  });
}

/** What cannot be written is no history. */
const silent: PollingObserver = {
  polled() {},
  listed() {},
  committed() {},
  refused() {},
  turnFailed(_, error) {
    throw error;
  },
};
