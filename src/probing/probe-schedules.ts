import type { ProbeSubject } from "../core/incident.ts";
import { subjectName } from "../core/probe.ts";
import type { Clock } from "../platform/clock.ts";
import { createScheduler } from "../polling/scheduler.ts";
import { createTicker, firstRoundOf } from "../polling/ticker.ts";
import type { TickerDeps } from "../polling/ticker.ts";
import { watchTurns } from "../polling/turn-watch.ts";
import type { WatchedProbe } from "./watched-probe.ts";

export interface ProbeSchedulesDeps {
  readonly probes: readonly WatchedProbe[];
  readonly clock: Clock;
  /** Never rejects. */
  readonly run: (subject: ProbeSubject, deadlineMs: number) => Promise<void>;
  readonly ticking: TickerDeps;
}

/** Gives every probe its runs, those of one schedule in the same rounds. */
export interface ProbeSchedules {
  start(): void;
  /** Starts no more runs; resolves when those under way have ended. */
  stop(): Promise<void>;
  /** Whether a probe should have run again long ago. */
  isOverdue(probe: WatchedProbe): boolean;
}

export function createProbeSchedules(deps: ProbeSchedulesDeps): ProbeSchedules {
  const { clock, run, ticking } = deps;
  const bySchedule = Map.groupBy(deps.probes, ({ probe }) => JSON.stringify(probe.schedule));
  const rounds = [...bySchedule.values()].flatMap((probes) => {
    const schedule = probes[0]?.probe.schedule;
    if (!schedule) return [];
    const turns = watchTurns(run, clock, firstRoundOf(schedule, clock), subjectName);
    const scheduler = createScheduler({
      targets: probes.map(({ subject }) => subject),
      nameOf: subjectName,
      ticker: createTicker(schedule, ticking),
      clock,
      poll: turns.takeTurn,
    });
    return [{ probes, turns, scheduler }];
  });
  return {
    start() {
      for (const { scheduler } of rounds) scheduler.start();
    },
    async stop() {
      await Promise.all(rounds.map(({ scheduler }) => scheduler.stop()));
    },
    isOverdue: (probe) => rounds.some(({ turns }) => turns.isOverdue(probe.subject)),
  };
}
