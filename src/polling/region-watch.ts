import { judgeRegion } from "../alerts/judge-region.ts";
import type { JudgeOptions } from "../alerts/judge.ts";
import { holdIncidents } from "../alerts/target-state.ts";
import type { CurrentSuppressions, RegionDown } from "../alerts/silence.ts";
import { targetName, type Target } from "../fleet/model.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { Store } from "../store/store.ts";
import type { CommitLoop } from "./commit-loop.ts";

/** Targets that fail within this time are judged together. */
const gatherMs = 1_000;

export interface RegionWatchDeps {
  readonly targets: readonly Target[];
  readonly store: Pick<Store["regions"], "withIncidents" | "read" | "commit">;
  readonly judge: Omit<JudgeOptions, "suppressions">;
  readonly suppressions: CurrentSuppressions & {
    setRegionDown(region: string, down: readonly RegionDown[]): void;
  };
  readonly commits: Pick<CommitLoop, "commit" | "publish">;
  /** Of polls. Milliseconds. */
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

export type RegionWatch = ReturnType<typeof createRegionWatch>;

/** Judges whether regions fail as a whole, from what is stored of their targets. */
export function createRegionWatch(deps: RegionWatchDeps) {
  const { store, judge, suppressions, commits, intervalMs, clock, log } = deps;
  const configured = new Set(deps.targets.map(targetName));
  const polledRegions = new Set(deps.targets.map(({ region }) => region));
  const isJudged = judge.rules.some(({ on }) => on === "region");
  const due = new Set<string>();
  let cancelTimer: (() => void) | null = null;
  let isGathering = false;
  let running = Promise.resolve();

  /** @returns whether the region has an incident, which may end by time alone */
  const judgeNow = async (region: string): Promise<boolean> => {
    const { judged, atMs, hasIncident } = await commits.commit(async () => {
      const { targets, openIncidents, flaps } = await store.read(region);
      const known = targets.filter(({ target }) => configured.has(targetName(target)));
      const held = holdIncidents(openIncidents, flaps);
      const nowMs = clock.now().utcMs;
      const options = { ...judge, suppressions: suppressions.at(nowMs) };
      const decided = judgeRegion({ region, targets: known, ...held }, nowMs, options);
      const { written, dropped, flaps: changedFlaps } = decided.incidents;
      if (written.length + dropped.length + changedFlaps.length > 0)
        await store.commit(region, decided.incidents);
      const isOpen = openIncidents.length + written.length > 0;
      return { judged: decided, atMs: nowMs, hasIncident: isOpen };
    });
    suppressions.setRegionDown(region, judged.down);
    await commits.publish({ target: null, incidents: judged.incidents, atMs });
    return hasIncident;
  };

  const judgeIn = (ms: number): void => {
    cancelTimer?.();
    cancelTimer = clock.setTimer(ms, () => void runOnce());
  };

  const judgeLogged = async (region: string): Promise<boolean> => {
    try {
      return await judgeNow(region);
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
    for (const region of regions) if (await judgeLogged(region)) due.add(region);
    // No poll might have them judged again: targets that are up do not.
    if (due.size > 0 && !isGathering) judgeIn(intervalMs);
  };

  const runOnce = (): Promise<void> => (running = running.then(judgeDue));

  return {
    /** A target of the region failed, or is up again. */
    wake(region: string): void {
      if (!isJudged) return;
      due.add(region);
      if (isGathering) return;
      isGathering = true;
      judgeIn(gatherMs);
    },
    /**
     * Judges all from what is stored: to be called before any poll. Incidents of regions that are not configured any more
     * end.
     */
    async restore(): Promise<void> {
      for (const region of await store.withIncidents()) due.add(region);
      if (isJudged) for (const region of polledRegions) due.add(region);
      await runOnce();
    },
    runOnce,
    async stop(): Promise<void> {
      await running;
      cancelTimer?.();
    },
  };
}
