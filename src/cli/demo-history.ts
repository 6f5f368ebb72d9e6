import { setImmediate } from "node:timers/promises";
import type { Config } from "../config/config.ts";
import { configuredTargets } from "../config/configured-targets.ts";
import { noSuppressions } from "../alerts/silence.ts";
import { judgePoll } from "../alerts/judge.ts";
import type { JudgeOptions, PollOutcome, Verdict } from "../alerts/judge.ts";
import { targetName } from "../fleet/model.ts";
import type { FailureReason, Target } from "../fleet/model.ts";
import { phaseOf } from "../fleet/schedule.ts";
import { isFullyObserved } from "../alerts/target-state.ts";
import { systemClock } from "../lib/clock.ts";
import type { Clock } from "../lib/clock.ts";
import { createLogger } from "../lib/logger.ts";
import { shortId } from "../lib/random.ts";
import { createCommitLoop } from "../polling/commit-loop.ts";
import { restorePools, restoreTargets } from "../polling/restore.ts";
import { draw } from "../simulator/hash.ts";
import { listDirectly, troublesOf } from "../simulator/past-listings.ts";
import type { World } from "../simulator/world.ts";
import { openStore } from "../store/store.ts";

interface Past {
  readonly config: Config;
  readonly seed: number;
  readonly world: World;
  /** In each listing. */
  readonly servers: number;
  readonly days: number;
}

const tenMinutesMs = 10 * 60_000;
const dayMs = 144 * tenMinutesMs;

/** Servers that are observed within a few seconds. A poll costs as much as some more of them. */
const mostLooks = 350_000;
const looksOfAPoll = 15;

/** Polls of a target that are written at once. */
const pollsAtOnce = 200;
/** Rounds after which other events are handled. */
const roundsAtOnce = 20;

/**
 * Fills the store with the history of a simulated world until now, as the daemon would have stored it, but notifies
 * nobody. Gives how many polls there were.
 */
export async function makeHistory(
  past: Past,
  signal: AbortSignal,
  clock: Clock = systemClock,
): Promise<number> {
  const { config, days, servers } = past;
  await using opened = new AsyncDisposableStack();
  const store = openStore(config.store.path, undefined, { isTemporary: true });
  opened.defer(() => store.close());

  const configured = configuredTargets(config);
  // The shortest interval for which the history takes seconds.
  const looks = (configured.length * (servers + looksOfAPoll) * days * dayMs) / tenMinutesMs;
  const intervalMs = Math.min(36, Math.ceil(looks / mostLooks)) * tenMinutesMs;
  const beginMs = clock.now().utcMs - days * dayMs;
  let draws = 0;
  const judge: JudgeOptions = {
    rules: config.alerts.rules,
    goneAfter: config.poll.goneAfter,
    suppressions: noSuppressions,
    newIncidentId: () => shortId((below) => Math.floor(draw(past.seed, ++draws) * below)),
    // Nobody is notified of the past: the daemon notifies of what is wrong when it starts.
    receivers: new Map(),
  };
  const log = createLogger({ level: "silent", format: "json" });
  const restore = { judge, nowUtcMs: beginMs, commits: createCommitLoop(log) };
  const shown = { staleAfter: config.poll.staleAfter, restoredForMs: 0 };
  const restored = await restoreTargets(store, configured, { ...restore, ...shown });
  const pools = await restorePools(store, configured, restore);
  const targets = restored
    .map((watched) => ({
      watched,
      troubleAt: troublesOf(past.seed, watched.target),
      phaseMs: Math.floor(phaseOf(targetName(watched.target)) * intervalMs),
      /** Polls that are not written yet. */
      polls: [] as Verdict[],
    }))
    .toSorted((one, other) => one.phaseMs - other.phaseMs);

  const outcomeAt = (
    target: Target,
    utcMs: number,
    trouble: FailureReason | "partial" | null,
  ): PollOutcome => {
    if (trouble !== null && trouble !== "partial") return { kind: "failed", reason: trouble };
    const complete = trouble === null;
    const view = { target, utcMs, servers, pins: new Map() };
    const sandboxes = listDirectly(past.world.sandboxes(view), complete ? 1 : 0.6);
    const texts = sandboxes.map(() => null);
    return { kind: "listed", listing: { sandboxes, texts, complete } };
  };
  let count = 0;
  let nowMs = beginMs;
  const pollAt = async (
    { watched, troubleAt, polls }: (typeof targets)[number],
    atMs: number,
    leastToWrite = pollsAtOnce,
  ): Promise<void> => {
    nowMs = Math.max(nowMs, atMs);
    const { id, target, state } = watched;
    const at = { utcMs: nowMs, monotonicMs: nowMs - beginMs };
    const verdict = judgePoll(state, outcomeAt(target, nowMs, troubleAt(nowMs)), at, judge);
    const { snapshot, progress } = verdict;
    const polled = { target, at, snapshot, whole: isFullyObserved(progress) };
    const ofPools = pools.judge(pools.observe(polled), judge);
    polls.push(verdict);
    if (polls.length >= leastToWrite) await store.importPolls(id, polls.splice(0));
    await store.commitPools(id, ofPools.outcome);
    pools.accept(ofPools);
    watched.accept(verdict);
    count += 1;
  };
  // The rounds are the same whenever the history ends.
  let roundMs = Math.ceil(beginMs / intervalMs) * intervalMs;
  for (let round = 1; roundMs + intervalMs <= clock.now().utcMs; round++, roundMs += intervalMs) {
    for (const each of targets) await pollAt(each, roundMs + each.phaseMs);
    if (round % roundsAtOnce > 0) continue;
    await setImmediate();
    if (signal.aborted) return count;
  }
  // Leaves almost no unobserved time before the daemon starts.
  for (const each of targets) await pollAt(each, clock.now().utcMs, 0);
  while (!signal.aborted && (await store.rollUp())) await setImmediate();
  return count;
}
