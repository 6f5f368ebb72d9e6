import type { ProbeSubject } from "../core/incident.ts";
import { subjectName } from "../core/probe.ts";
import type { Clock } from "../platform/clock.ts";
import { createScheduler } from "../polling/scheduler.ts";
import { createTicker } from "../polling/ticker.ts";
import type { TickerDeps } from "../polling/ticker.ts";
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
}

export function createProbeSchedules(deps: ProbeSchedulesDeps): ProbeSchedules {
  const { clock, run, ticking } = deps;
  const bySchedule = Map.groupBy(deps.probes, ({ probe }) => JSON.stringify(probe.schedule));
  const schedulers = [...bySchedule.values()].flatMap((probes) => {
    const schedule = probes[0]?.probe.schedule;
    if (!schedule) return [];
    return createScheduler({
      targets: probes.map(({ subject }) => subject),
      nameOf: subjectName,
      ticker: createTicker(schedule, ticking),
      clock,
      poll: run,
    });
  });
  return {
    start() {
      for (const scheduler of schedulers) scheduler.start();
    },
    async stop() {
      await Promise.all(schedulers.map((scheduler) => scheduler.stop()));
    },
  };
}
