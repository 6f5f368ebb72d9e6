import { isDeepStrictEqual } from "node:util";
import { judgeAndCommit, type CurrentSuppressions } from "../alerts/current-suppressions.ts";
import type { IncidentOutcome } from "../alerts/incident-engine.ts";
import { judgeRegion, storedRegionDown, type StoredRegion } from "../alerts/judge-region.ts";
import type { JudgeOptions } from "../alerts/judge.ts";
import { holdIncidents } from "../alerts/open-incidents.ts";
import type { RegionsDown } from "../alerts/silence.ts";
import { targetName, type Target } from "../fleet/model.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { logIncidents } from "./incident-log.ts";

/** Targets that fail within this time are judged together. */
const gatherMs = 1_000;

/** With several replicas, each judges some regions, and reads of the others which are down. */
export interface SharedRegions {
  /** Whether this process is still the one that judges what it has gained. */
  readonly isHeld: () => boolean;
  /** Other replicas call `onNotice` with it. */
  readonly notice: (topic: string) => Promise<void>;
  /** A notice may be lost, so it is read this often, too. Milliseconds. */
  readonly readEveryMs: number;
}

export interface RegionWatchDeps {
  readonly targets: readonly Target[];
  readonly store: {
    withIncidents(): Promise<readonly string[]>;
    read(region: string): Promise<StoredRegion>;
    commit(region: string, incidents: IncidentOutcome): Promise<void>;
  };
  readonly judge: Omit<JudgeOptions, "suppressions">;
  readonly suppressions: CurrentSuppressions;
  readonly notifier: { wake(causedAtMs: number): void };
  /** Of polls. Milliseconds. */
  readonly intervalMs: number;
  /** Default: this process judges all. */
  readonly shared?: SharedRegions | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

export type RegionWatch = ReturnType<typeof createRegionWatch>;

/** A target of the region failed, or is up again: who judges it does so. */
const polledTopic = "region-polled ";
/** What was decided of the region has changed. */
const judgedTopic = "region ";

/**
 * Judges whether regions fail as a whole, from what is stored of their targets, which other processes may poll. One process at a time
 * owns a region; the others read which are down.
 */
export function createRegionWatch(deps: RegionWatchDeps) {
  const { store, judge, suppressions, notifier, intervalMs, shared, clock, log } = deps;
  const configured = new Set(deps.targets.map(targetName));
  const polledRegions = new Set(deps.targets.map(({ region }) => region));
  const isJudged = judge.rules.some(({ on }) => on === "region");
  /** The regions that this process judges. */
  const owned = new Set<string>();
  const isOwned = (region: string): boolean => owned.has(region) && shared?.isHeld() !== false;
  let down: RegionsDown = new Map();
  const due = new Set<string>();
  let cancelTimer: (() => void) | null = null;
  let cancelReading: (() => void) | null = null;
  let isGathering = false;
  let isStopped = false;
  let running = Promise.resolve();

  const readRegion = async (region: string) => {
    const { targets, openIncidents, flaps } = await store.read(region);
    const known = targets.filter(({ target }) => configured.has(targetName(target)));
    return { region, targets: known, intervalMs, openIncidents, flaps };
  };

  /**
   * @param isOwner whether this process may still commit it
   * @returns whether the region has an incident, which may end by time alone
   */
  const judgeNow = async (region: string, isOwner: () => boolean): Promise<boolean> => {
    const stored = await readRegion(region);
    const { openIncidents } = stored;
    const state = { ...stored, ...holdIncidents(openIncidents, stored.flaps) };
    const atMs = clock.now().utcMs;
    const verdict = await judgeAndCommit(suppressions, async (current) => {
      const options = { ...judge, suppressions: current.at(clock.now().utcMs) };
      const judged = judgeRegion(state, atMs, options);
      const { written, dropped, flaps: changedFlaps } = judged.incidents;
      const hasChanged = written.length + dropped.length + changedFlaps.length > 0;
      if (!isOwner()) return null;
      if (hasChanged) await store.commit(region, judged.incidents);
      return judged;
    });
    if (verdict === null) return false;
    const { written, outbox } = verdict.incidents;
    const before = down.get(region) ?? [];
    down = new Map([...down, [region, verdict.down]]);
    if (outbox.length > 0) notifier.wake(atMs);
    if (!isDeepStrictEqual(before, verdict.down)) noticeOthers(judgedTopic + region);
    await logIncidents(log, null, verdict.incidents);
    return openIncidents.length > 0 || written.length > 0;
  };

  /** If it is lost, others find out when they read the next time. */
  const noticeOthers = (topic: string): void => void shared?.notice(topic).catch(() => {});

  const judgeIn = (ms: number): void => {
    cancelTimer?.();
    cancelTimer = clock.setTimer(ms, () => void runOnce());
  };

  const judgeLogged = async (region: string, isOwner: () => boolean): Promise<boolean> => {
    try {
      return await judgeNow(region, isOwner);
    } catch (err) {
      log.error(
        { event: "region.failed", region, err },
        `whether region ${region} fails as a whole could not be decided`,
      );
      return true;
    }
  };

  const judgeDue = async (): Promise<void> => {
    cancelTimer?.();
    isGathering = false;
    const regions = [...due];
    due.clear();
    for (const region of regions) {
      if (!isOwned(region)) noticeOthers(polledTopic + region);
      else if ((await judgeLogged(region, () => isOwned(region))) && isOwned(region)) {
        due.add(region);
      }
    }
    // No poll might have them judged again: targets that are up do not.
    if (due.size > 0 && !isGathering) judgeIn(intervalMs);
  };

  const runOnce = (): Promise<void> => (running = running.then(judgeDue));

  /** Reads which of the regions that other replicas judge are down. */
  const readDown = async (regions: Iterable<string>): Promise<void> => {
    const withIncidents = new Set(await store.withIncidents());
    for (const region of regions) {
      if (owned.has(region)) continue;
      const isDown = withIncidents.has(region);
      const read = isDown ? storedRegionDown(await readRegion(region), judge.rules) : [];
      if (!owned.has(region)) down = new Map([...down, [region, read]]);
    }
  };

  const wake = (region: string): void => {
    if (!isJudged) return;
    due.add(region);
    if (isGathering) return;
    isGathering = true;
    judgeIn(gatherMs);
  };

  const follow = async (): Promise<void> => {
    if (!shared || !isJudged || isStopped) return;
    cancelReading?.();
    cancelReading = clock.setTimer(shared.readEveryMs, () => void follow());
    // What was read last stands until the store can be read again.
    await readDown(polledRegions).catch(() => {});
  };

  return {
    /** Of which the failures of targets are a consequence, as it was last committed. */
    down: (): RegionsDown => down,
    /** A target of the region failed, or is up again. */
    wake,
    /** Judges these from now on, at first from what is stored: to be called before any poll of this process. */
    async gain(regions: readonly string[]): Promise<void> {
      for (const region of regions) owned.add(region);
      const known = new Set(await store.withIncidents());
      for (const region of regions) {
        if (known.has(region) || (isJudged && polledRegions.has(region))) due.add(region);
      }
      await runOnce();
    },
    /** Ends the incidents of regions that are not configured any more. */
    async retireOthers(regions: Iterable<string>): Promise<void> {
      const known = new Set(regions);
      for (const region of await store.withIncidents()) {
        if (!known.has(region)) await judgeLogged(region, () => true);
      }
    },
    /** Resolves when what was decided of these is committed. */
    async giveUp(regions: Iterable<string>): Promise<void> {
      for (const region of regions) owned.delete(region);
      await running;
    },
    /** Reads from now on which of the regions that this process does not judge are down: to be called before any poll. */
    follow,
    /** A replica has notified it, or notices may have been missed. */
    onNotice(topic: string): void {
      if (!shared || !isJudged) return;
      if (topic === "everything") void follow();
      const polled = topic.startsWith(polledTopic) && topic.slice(polledTopic.length);
      if (polled && isOwned(polled)) wake(polled);
      const judged = topic.startsWith(judgedTopic) && topic.slice(judgedTopic.length);
      if (judged) void readDown([judged]).catch(() => {});
    },
    runOnce,
    async stop(): Promise<void> {
      isStopped = true;
      await running;
      cancelTimer?.();
      cancelReading?.();
    },
  };
}
