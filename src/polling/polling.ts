import { judgeInSlices } from "../core/judge.ts";
import type { JudgeOptions, PollOutcome, Verdict } from "../core/judge.ts";
import { targetName } from "../core/model.ts";
import type { FailureReason, Target } from "../core/model.ts";
import type { PoolWatch } from "../core/pool-watch.ts";
import type { PollDetail } from "../core/watched-view.ts";
import type { Clock } from "../platform/clock.ts";
import { runInSlices } from "../platform/run-in-slices.ts";
import type { Secret } from "../platform/secret.ts";
import type { TakenListing } from "../service/client.ts";
import type { CallListing, TurnOutcome } from "./call-listing.ts";
import { createPoolCommits } from "./pool-commits.ts";
import { createRefusalWatch } from "./refusal-watch.ts";
import type { RefusalWatch } from "./refusal-watch.ts";
import type { WatchedTarget } from "./watched-target.ts";

/** Told of what polling does, for metrics and logs. */
export interface PollingObserver {
  /**
   * A poll ended, before its verdict is committed. One for which the key's limit left no room has
   * failed like any other, but took no time that says anything: its duration is null. One that was not
   * sent because the key is refused is no poll.
   */
  polled(target: Target, failure: PollFailure | null, durationMs: number | null): void;
  /** After `polled`, what is to be said of an accepted listing: why it is partial, what cannot be kept. */
  listed(target: Target, listing: Pick<TakenListing, "partial" | "unkept">): void;
  /** A verdict was committed, and `watched` holds it. */
  committed(watched: WatchedTarget, verdict: Verdict, durationMs: number): void | Promise<void>;
  /** The service refuses the key from now on: it is asked again after this long, and then more rarely. */
  refused(target: Target, retryMs: number): void;
  /** A turn broke, most likely on the store: nothing of it counts, the next one decides afresh. */
  turnFailed(target: Target, error: unknown): void;
}

export interface PollFailure {
  readonly reason: FailureReason;
  /** A short sentence for a person, without anything secret. */
  readonly detail: string;
}

export interface Rounds {
  /** How far apart they usually are: one that begins late has less left. Milliseconds. */
  readonly usualMs: number;
  /** How long after the start the first one can begin: a schedule may pause. Milliseconds. */
  readonly firstMs: number;
}

export interface PollingDeps {
  readonly targets: readonly { readonly watched: WatchedTarget; readonly apiKey: Secret }[];
  readonly callListing: CallListing;
  readonly commit: (targetId: number, verdict: Verdict) => Promise<void>;
  /** Called when no poll is under way that could be committed with those before it. */
  readonly onLull: () => void;
  readonly judge: JudgeOptions;
  /** Left out: turns are as far apart as the time that each has. */
  readonly rounds?: Rounds;
  readonly pools: PoolWatch;
  readonly clock: Clock;
  readonly observer: PollingObserver;
  /** Called after a commit that gave the outbox something to tell. All of it was caused then. UTC milliseconds. */
  readonly onOutbox: (causedAtMs: number) => void;
}

export interface Polling {
  /**
   * One turn of a target: asks, decides, commits, and only then shows. Never rejects. The deadline
   * is when its next turn comes, in monotonic milliseconds.
   */
  poll(target: Target, deadlineMs: number): Promise<void>;
  /** Ends the calls under way; commits under way go on. */
  abort(): void;
}

interface Poller {
  readonly watched: WatchedTarget;
  readonly apiKey: Secret;
  readonly refusal: RefusalWatch;
  /** By when its next turn has to begin for the time until then to count as watched, monotonic. */
  watchedUntilMs: number;
}

/** The service refused the key a short time ago, and nothing is sent yet. */
interface BackingOff {
  readonly kind: "backing_off";
}

interface Decided {
  readonly verdict: Verdict;
  readonly detail: PollDetail | null;
}

const nothingSent = "nothing was sent";

/** Times the time that a turn has, or usually has. */
const mostLate = 1.1;

export function createPolling(deps: PollingDeps): Polling {
  const { clock, observer, judge, rounds = { usualMs: 0, firstMs: 0 } } = deps;
  const stopping = new AbortController();
  const pollers = new Map(
    deps.targets.map(({ watched, apiKey }): [string, Poller] => [
      targetName(watched.target),
      { watched, apiKey, refusal: createRefusalWatch(clock), watchedUntilMs: Infinity },
    ]),
  );

  const commit = async (
    { watched }: Poller,
    { verdict: judged, detail }: Decided,
  ): Promise<void> => {
    const startedMs = clock.now().monotonicMs;
    const verdict = await commitWithPools(watched, judged);
    const tookMs = clock.now().monotonicMs - startedMs;
    watched.accept(verdict, detail);
    if (tellsAnything(verdict)) deps.onOutbox(verdict.at.utcMs);
    await observer.committed(watched, verdict, tookMs);
  };

  const commitWithPools = createPoolCommits(deps);

  const ask = (poller: Poller, deadlineMs: number): Promise<TurnOutcome | BackingOff> => {
    const { refusal, watched, apiKey } = poller;
    return refusal.isBackingOff()
      ? Promise.resolve({ kind: "backing_off" })
      : deps.callListing(watched.target, {
          apiKey,
          deadlineMs,
          signal: stopping.signal,
          before: watched.state.snapshot,
          // The texts of different targets are parsed again at different polls, whenever they were first polled.
          poll: watched.id + watched.state.progress.observed.polls,
        });
  };

  const report = (target: Target, outcome: TurnOutcome | BackingOff, durationMs: number): void => {
    switch (outcome.kind) {
      case "ok":
        observer.polled(target, null, durationMs);
        observer.listed(target, outcome.value);
        return;
      case "failed":
        observer.polled(target, outcome, durationMs);
        return;
      case "not_sent":
        observer.polled(target, { reason: outcome.reason, detail: nothingSent }, null);
        return;
      case "backing_off":
      case "stopped":
    }
  };

  const decide = async (poller: Poller, deadlineMs: number): Promise<Decided | null> => {
    const { watched, refusal } = poller;
    const startedMs = clock.now().monotonicMs;
    const outcome = await ask(poller, deadlineMs);
    const isRefused = refusal.note(outcome, { startedMs, deadlineMs });
    if (isRefused) observer.refused(watched.target, deadlineMs - startedMs);
    report(watched.target, outcome, clock.now().monotonicMs - startedMs);
    const pollOutcome = toPollOutcome(outcome);
    if (!pollOutcome) return null;
    const verdict = await runInSlices(
      judgeInSlices(watched.state, pollOutcome, clock.now(), judge),
    );
    return { verdict, detail: toDetail(outcome) };
  };

  let undecided = 0;
  const noteLull = (): void => {
    if (undecided === 0) deps.onLull();
  };

  const takeTurn = async (poller: Poller, deadlineMs: number): Promise<void> => {
    undecided += 1;
    const deciding = decide(poller, deadlineMs).finally(() => {
      undecided -= 1;
      // Only after this very verdict, too, was given to be committed.
      if (undecided === 0) setImmediate(noteLull);
    });
    const decided = await deciding;
    if (decided) await commit(poller, decided);
  };

  return {
    async poll(target, deadlineMs) {
      const poller = pollers.get(targetName(target));
      if (!poller || stopping.signal.aborted) return;
      const startedMs = clock.now().monotonicMs;
      if (startedMs > poller.watchedUntilMs) {
        poller.watched.lapse();
        deps.pools.lose(target);
      }
      try {
        await takeTurn(poller, deadlineMs);
      } catch (error) {
        poller.watched.loseTurn();
        deps.pools.lose(target);
        observer.turnFailed(target, error);
      }
      // A turn may be skipped, where this one was slow or the next one late, and turns begin a little
      // late. With more of them missing the process was held up.
      const pausedMs = poller.watchedUntilMs === Infinity ? startedMs + rounds.firstMs : 0;
      const dueMs = Math.max(deadlineMs, pausedMs, clock.now().monotonicMs);
      poller.watchedUntilMs = dueMs + mostLate * Math.max(rounds.usualMs, deadlineMs - startedMs);
    },
    abort: () => stopping.abort(),
  };
}

/** Where the key's limit left no room for a request, nothing was seen, like at a failed poll. */
function toPollOutcome(outcome: TurnOutcome | BackingOff): PollOutcome | null {
  switch (outcome.kind) {
    case "ok":
      return { kind: "listed", listing: outcome.value.listing };
    case "failed":
    case "not_sent":
      return { kind: "failed", reason: outcome.reason };
    case "backing_off":
      return outcome;
    case "stopped":
      return null;
  }
}

/** What there is to say of a poll beyond what is kept of it. */
function toDetail(outcome: TurnOutcome | BackingOff): PollDetail | null {
  switch (outcome.kind) {
    case "ok": {
      const { partial } = outcome.value;
      return partial === null ? null : { text: partial, status: null, problem: null };
    }
    case "failed":
      return { text: outcome.detail, status: outcome.status, problem: outcome.problem ?? null };
    case "not_sent":
      return { text: nothingSent, status: null, problem: null };
    case "backing_off":
    case "stopped":
      return null;
  }
}

function tellsAnything({ incidents, pools }: Verdict): boolean {
  return incidents.outbox.length > 0 || (pools !== null && pools.incidents.outbox.length > 0);
}
