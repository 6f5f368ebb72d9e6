/** How sandwatch does, as far as an outside watch can rely on it. An outage of the service is not ill. */
export interface Vitals {
  readonly targets: readonly TargetVitals[];
  readonly probes: readonly ProbeVitals[];
  /** Those that are told of incidents. */
  readonly receivers: readonly ReceiverVitals[];
}

export interface TargetVitals {
  /** Whether a turn of it ended since the start, well or badly. */
  readonly polled: boolean;
  /** Turns in a row that the store did not take. */
  readonly lostPolls: number;
}

export interface ProbeVitals {
  /** Runs in a row that the store did not take. */
  readonly lostRuns: number;
}

export interface ReceiverVitals {
  /** How long a group of it may wait until it becomes a notification. Milliseconds. */
  readonly groupingMs: number;
  /** How long its oldest notification has been tried; null: none is. */
  readonly pendingForMs: number | null;
  /** How long the oldest of what is in no notification yet has waited; null: nothing does. */
  readonly ungroupedForMs: number | null;
}

/** A receiver for which something waits longer does not take what it is told. */
const longestDelayMs = 15 * 60_000;

/** Why sandwatch would not notice an error, or could not tell anybody; null: it would, and could. */
export function ailmentOf({ targets, probes, receivers }: Vitals): string | null {
  const count = (number: number): string => `${number} of ${targets.length} targets`;
  const lost = targets.filter(({ lostPolls }) => lostPolls > 0).length;
  if (lost > 0) return `the store did not accept the last poll of ${count(lost)}`;
  const unpolled = targets.filter(({ polled }) => !polled).length;
  if (unpolled > 0) return `the first poll of ${count(unpolled)} has not ended`;
  const unkept = probes.filter(({ lostRuns }) => lostRuns > 0).length;
  if (unkept > 0)
    return `the store did not accept the last run of ${unkept} of ${probes.length} probes`;
  return receivers.length > 0 && receivers.every(isStuck)
    ? "no receiver accepts notifications"
    : null;
}

function isStuck({ groupingMs, pendingForMs, ungroupedForMs }: ReceiverVitals): boolean {
  return (
    (pendingForMs ?? 0) > longestDelayMs || (ungroupedForMs ?? 0) > longestDelayMs + groupingMs
  );
}
