import { setImmediate } from "node:timers/promises";
import type { Config } from "../config/config.ts";
import { configuredTargets } from "../config/configured-targets.ts";
import { noInterventions } from "../alerts/silence.ts";
import { judgePoll } from "../alerts/judge.ts";
import type { JudgeOptions, PollOutcome, Verdict } from "../alerts/judge.ts";
import { targetName } from "../fleet/model.ts";
import type { Target } from "../fleet/model.ts";
import { phaseOf } from "../fleet/schedule.ts";
import { isFullyObserved } from "../alerts/target-state.ts";
import { createLogger } from "../lib/logger.ts";
import { restorePools, restoreTargets } from "../polling/restore.ts";
import type { WatchedTarget } from "../polling/watched-target.ts";
import { identityOf, uuidOf } from "../simulator/hash.ts";
import { listDirectly, troublesOf } from "../simulator/past-listings.ts";
import type { World } from "../simulator/world.ts";
import { openStore } from "../store/store.ts";

export interface HistoryOptions {
  readonly config: Config;
  readonly seed: number;
  readonly world: World;
  /** In each listing. */
  readonly servers: number;
  readonly days: number;
  /** The end, which moves on while the history is made. UTC milliseconds. */
  readonly untilMs: () => number;
  /** @param share the share that is done, from 0 to 1 */
  readonly onProgress: (share: number) => void;
  readonly signal: AbortSignal;
}

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

const possibleIntervals = [10, 15, 20, 30, 60, 120, 180, 360].map((minutes) => minutes * minuteMs);
/** Servers that are observed within a few seconds. A poll costs as much as some more of them. */
const mostLooks = 350_000;
const looksOfAPoll = 15;

/** Polls of a target that are written at once. */
const pollsAtOnce = 200;
/** Rounds after which other events are handled. */
const roundsAtOnce = 20;

interface PolledTarget {
  readonly watched: WatchedTarget;
  /** When in a round it is polled. */
  readonly phaseMs: number;
  /** What a poll at a moment gives. UTC milliseconds. */
  readonly look: (utcMs: number) => PollOutcome;
  /** Polls that are not written yet. */
  readonly polls: Verdict[];
}

/**
 * Fills the store with the history of a simulated world, as the daemon would have stored it. Polls are
 * judged and committed as usual, by a clock of their own, and nobody is notified.
 *
 * @returns how many polls there were
 * @throws {StoreError} when the store cannot be used
 */
export async function makeHistory(options: HistoryOptions): Promise<number> {
  const { config, untilMs, days, onProgress, signal } = options;
  await using opened = new AsyncDisposableStack();
  const store = openStore(config.store.path, undefined, { isTemporary: true });
  opened.defer(() => store.close());

  const configured = configuredTargets(config);
  const intervalMs = intervalOf(configured.length, options.servers, days);
  const beginMs = untilMs() - days * dayMs;
  const judge = judgeOf(options);
  const log = createLogger({ level: "silent", format: "json" });
  const restore = { judge, nowUtcMs: beginMs, log };
  const shown = { staleAfter: config.poll.staleAfter, restoredForMs: 0 };
  const restored = await restoreTargets(store, configured, { ...restore, ...shown });
  const pools = await restorePools(store, configured, restore);
  const targets = restored
    .map((watched): PolledTarget => {
      const phaseMs = Math.floor(phaseOf(targetName(watched.target)) * intervalMs);
      return { watched, phaseMs, look: createLook(watched.target, options), polls: [] };
    })
    .toSorted((one, other) => one.phaseMs - other.phaseMs);

  const write = ({ watched, polls }: PolledTarget): Promise<void> =>
    store.importPolls(watched.id, polls.splice(0));
  let count = 0;
  let nowMs = beginMs;
  const pollAt = async (polled: PolledTarget, atMs: number): Promise<void> => {
    nowMs = Math.max(nowMs, atMs);
    const { target, state } = polled.watched;
    const at = { utcMs: nowMs, monotonicMs: nowMs - beginMs };
    const verdict = judgePoll(state, polled.look(nowMs), at, judge);
    const { snapshot, progress } = verdict;
    const ofPools = pools.concerns(target)
      ? pools.judge({ target, at, snapshot, whole: isFullyObserved(progress) }, judge)
      : null;
    const committed = { ...verdict, pools: ofPools?.outcome ?? null };
    polled.polls.push(committed);
    if (polled.polls.length >= pollsAtOnce) await write(polled);
    ofPools?.accept();
    polled.watched.accept(committed);
    count += 1;
  };
  // The rounds are the same whenever the history ends.
  let roundMs = Math.ceil(beginMs / intervalMs) * intervalMs;
  for (let round = 1; roundMs + intervalMs <= untilMs(); round++, roundMs += intervalMs) {
    for (const each of targets) await pollAt(each, roundMs + each.phaseMs);
    if (round % roundsAtOnce > 0) continue;
    onProgress((roundMs - beginMs) / (untilMs() - beginMs));
    await setImmediate();
    if (signal.aborted) return count;
  }
  // So that almost no time is unobserved before the daemon starts.
  for (const each of targets) await pollAt(each, untilMs());
  for (const each of targets) await write(each);
  return count;
}

/** The shortest interval for which the history takes seconds. */
function intervalOf(targets: number, servers: number, days: number): number {
  const isShortEnough = (intervalMs: number): boolean =>
    ((days * dayMs) / intervalMs) * targets * (servers + looksOfAPoll) <= mostLooks;
  return possibleIntervals.find(isShortEnough) ?? 360 * minuteMs;
}

function createLook(
  target: Target,
  { seed, servers, world }: HistoryOptions,
): PolledTarget["look"] {
  const troubleAt = troublesOf(seed, target);
  return (utcMs) => {
    const trouble = troubleAt(utcMs);
    if (trouble !== null && trouble !== "partial") return { kind: "failed", reason: trouble };
    const complete = trouble === null;
    const view = { target, utcMs, servers, pins: new Map() };
    const sandboxes = listDirectly(world.sandboxes(view), complete ? 1 : 0.6);
    const texts = sandboxes.map(() => null);
    return { kind: "listed", listing: { sandboxes, texts, complete } };
  };
}

function judgeOf({ config, seed }: HistoryOptions): JudgeOptions {
  let incidents = 0;
  return {
    rules: config.alerts.rules,
    goneAfter: config.poll.goneAfter,
    interventions: noInterventions,
    newIncidentId: () => uuidOf(identityOf("incident", seed, ++incidents)),
    // Nobody is notified of the past: the daemon notifies of what is wrong when it starts.
    notifies: () => false,
  };
}
