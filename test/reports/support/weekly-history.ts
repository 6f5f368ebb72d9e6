import { weekMs } from "../../../src/reports/forecast.ts";
import { outlookOf, type Outlook, type PoolWeek } from "../../../src/reports/outlook.ts";
import { UsageSums, type Usage } from "../../../src/reports/pool-usage.ts";

/** The twelve weeks end on 30 November. */
export const startMs = Date.UTC(2026, 8, 7);

export interface History {
  /** The most occupied servers of each week. Null: most of the week was unobserved. None: there were no servers. */
  readonly peaks: readonly (number | null | "none")[];
  readonly averages?: readonly number[];
  readonly servers?: readonly number[];
  readonly lastNoIdleMs?: number;
  readonly usage?: Usage;
  readonly isExact?: boolean;
}

export const noUsage = new UsageSums().result();

/** Weeks before the first one of the history are unknown. */
export function outlook({
  peaks,
  averages,
  servers,
  usage,
  lastNoIdleMs = 0,
  isExact = true,
}: History): Outlook {
  const before = 12 - peaks.length;
  const weeks = Array.from({ length: 12 }, (_, index): PoolWeek => {
    const week = index - before;
    const isEmpty = peaks[week] === "none";
    const peak = peaks[week] === "none" ? null : (peaks[week] ?? null);
    return {
      startMs: startMs + index * weekMs,
      observedShare: week < 0 || isEmpty ? 0 : peak === null ? 0.4 : 1,
      isEmpty,
      occupiedAverage: peak === null ? null : (averages?.[week] ?? peak / 2),
      occupiedPeak: peak,
      servers: peak === null ? null : (servers?.[week] ?? 20),
    };
  });
  return outlookOf({ weeks, usage: usage ?? noUsage, lastNoIdleMs, isExact }, 0.9);
}
