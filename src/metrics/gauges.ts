import type { Registry } from "prom-client";
import type { ProbeView } from "../alerts/probe.ts";
import type { WatchedView } from "../alerts/target-view.ts";
import { register, type GaugeFamily, type Series } from "./gauge-family.ts";
import { incidentGauges, type IncidentGaugeOptions } from "./incident-gauges.ts";

export interface GaugeOptions extends ProcessGaugeOptions, IncidentGaugeOptions {
  readonly targets: readonly WatchedView[];
  readonly probes: readonly ProbeView[];
  readonly receivers: readonly string[];
  readonly keys: readonly { readonly name: string; readonly labels: ReadonlyMap<string, string> }[];
  /** Whether clicks in messages can arrive, by receiver. Read at each scrape. */
  readonly connected: ReadonlyMap<string, boolean>;
  /** What waits for each receiver. */
  readonly readOutbox: () => Promise<readonly OutboxView[]>;
  /** Rejects when the store does not answer, or is not to be written any more. */
  readonly checkStore: () => Promise<void>;
  /** How many rows of the store could not be read since the start, by table. */
  readonly readUnreadable: () => readonly (readonly [table: string, rows: number])[];
  /** The loops that must go on. UTC milliseconds. */
  readonly readLoops: () => readonly {
    readonly loop: string;
    readonly lastRunAtMs: number;
    readonly nextRunAtMs: number;
    readonly intervalMs: number;
  }[];
}

/** What metrics show of a process, also of one that stands by. */
export interface ProcessGaugeOptions {
  readonly build: { readonly version: string; readonly revision: string };
  /** How the configuration was last read. UTC milliseconds. */
  readonly readReload: () => { readonly successful: boolean; readonly successAtMs: number };
  readonly readActivity: () => {
    readonly takeOvers: number;
    /** For how long this process may act. Infinite: there is no lease. 0: it stands by. */
    readonly mayActForMs: number;
  };
}

interface OutboxView {
  readonly receiver: string;
  readonly pending: number;
  readonly dead: number;
  /** When the cause of the oldest pending notification was observed. UTC milliseconds. */
  readonly oldestCausedAtMs: number | null;
}

export function addGauges(registry: Registry, options: GaugeOptions): void {
  register(registry, [
    ...incidentGauges(options),
    keyGauge(options),
    ...outboxGauges(options),
    connectedGauge(options),
    ...probeGauges(options.probes),
    ...ownGauges(options),
    ...processGauges(options),
  ]);
}

/** Those of a process that stands by. */
export function addProcessGauges(registry: Registry, options: ProcessGaugeOptions): void {
  register(registry, processGauges(options));
}

/** Joins bring the labels of keys to other series. */
function keyGauge({ keys }: GaugeOptions): GaugeFamily {
  const labelNames = new Set(keys.flatMap(({ labels }) => [...labels.keys()]));
  return {
    name: "sandwatch_key_info",
    help: "The labels of a key, as they are configured; always 1.",
    labels: ["key", ...labelNames],
    read: () => keys.map(({ name, labels }) => [{ key: name, ...Object.fromEntries(labels) }, 1]),
  };
}

function outboxGauges({ receivers, readOutbox }: GaugeOptions): readonly GaugeFamily[] {
  // The gauges of one scrape share one read.
  let reading: ReturnType<typeof readOutbox> | null = null;
  const read = async (
    valueOf: (view: OutboxView) => number | null,
    shown: readonly string[] = [],
  ): Promise<Series> => {
    reading ??= readOutbox().finally(() => (reading = null));
    const outbox = await reading;
    const zeros = shown.map((receiver) => [{ receiver }, 0] as const);
    return [...zeros, ...withValues(outbox, ({ receiver }) => ({ receiver }), valueOf)];
  };
  return [
    {
      name: "sandwatch_notifications_pending",
      help: "Notifications that wait for delivery.",
      labels: ["receiver"],
      read: () => read(({ pending }) => pending, receivers),
    },
    {
      name: "sandwatch_notifications_dead",
      help: "Dead letters that are kept.",
      labels: ["receiver"],
      read: () => read(({ dead }) => dead, receivers),
    },
    {
      name: "sandwatch_notification_oldest_pending_timestamp_seconds",
      help: "When the cause of the oldest pending notification was observed, in seconds since 1970; absent without one.",
      labels: ["receiver"],
      // Nothing is late for a receiver that is not configured.
      read: () =>
        read(({ receiver, oldestCausedAtMs }) =>
          receivers.includes(receiver) ? inSeconds(oldestCausedAtMs) : null,
        ),
    },
  ];
}

function connectedGauge({ connected }: GaugeOptions): GaugeFamily {
  return {
    name: "sandwatch_receiver_connected",
    help: "Whether clicks on buttons in messages of the receiver can arrive; absent for receivers without buttons.",
    labels: ["receiver"],
    read: () => Array.from(connected, ([receiver, is]) => [{ receiver }, Number(is)] as const),
  };
}

/** How the probes do, and what their responses show. What was not observed recently has no series. */
function probeGauges(probes: readonly ProbeView[]): readonly GaugeFamily[] {
  const ofTarget = ({ subject: { region, key } }: ProbeView) => ({ region, key });
  const ofProbe = (view: ProbeView) => ({ probe: view.subject.probe, ...ofTarget(view) });
  const ofOperation = (view: ProbeView) => ({ ...ofProbe(view), operation: view.operation });
  return [
    {
      name: "sandwatch_probe_success",
      help: "Whether the last run of a probe met its expectations.",
      labels: ["probe", "region", "key", "operation"],
      read: () =>
        withValues(probes, ofOperation, ({ readings: { success } }) =>
          success === null ? null : Number(success),
        ),
    },
    {
      name: "sandwatch_probe_duration_seconds",
      help: "Duration of the last run of a probe, from its first request to the end of its last retry.",
      labels: ["probe", "region", "key", "operation"],
      read: () => withValues(probes, ofOperation, ({ readings }) => inSeconds(readings.durationMs)),
    },
    {
      name: "sandwatch_universes",
      help: "Universes in the last readable response to a probe of universes.",
      labels: ["region", "key"],
      read() {
        // Several probes may count the universes of one target: the last one that did is shown.
        const latestLast = probes.toSorted(
          (a, b) => (a.readings.readAtMs ?? 0) - (b.readings.readAtMs ?? 0),
        );
        return withValues(latestLast, ofTarget, ({ readings }) => readings.universes);
      },
    },
    {
      name: "sandwatch_user_last_used_timestamp_seconds",
      help: "When the user of a probe was last used, in seconds since 1970; absent if unknown.",
      labels: ["probe", "region", "key"],
      read: () => withValues(probes, ofProbe, ({ readings }) => inSeconds(readings.lastUsedAtMs)),
    },
  ];
}

/** The series of those that have a value. */
function withValues<View>(
  views: readonly View[],
  labelsOf: (view: View) => Readonly<Record<string, string>>,
  valueOf: (view: View) => number | null,
): Series {
  return views.flatMap((view) => {
    const value = valueOf(view);
    return value === null ? [] : [[labelsOf(view), value] as const];
  });
}

function inSeconds(ms: number | null): number | null {
  return ms === null ? null : ms / 1_000;
}

function ownGauges(options: GaugeOptions): readonly GaugeFamily[] {
  const { checkStore, readUnreadable, readLoops } = options;
  return [
    {
      name: "sandwatch_store_up",
      help: "Whether the store answers.",
      labels: [],
      read: () =>
        checkStore().then(
          () => [[{}, 1]],
          () => [[{}, 0]],
        ),
    },
    {
      name: "sandwatch_store_unreadable_rows",
      help: "Rows of the store that could not be read since the start, by table; absent without any.",
      labels: ["table"],
      read: () => readUnreadable().map(([table, rows]) => [{ table }, rows]),
    },
    {
      name: "sandwatch_loop_last_turn_timestamp_seconds",
      help: "When a loop last ran, in seconds since 1970; of several parts, the most overdue one.",
      labels: ["loop"],
      read: () => readLoops().map(({ loop, lastRunAtMs }) => [{ loop }, lastRunAtMs / 1_000]),
    },
    {
      name: "sandwatch_loop_next_turn_timestamp_seconds",
      help: "When the loop's next run is due by its schedule, in seconds since 1970.",
      labels: ["loop"],
      read: () => readLoops().map(({ loop, nextRunAtMs }) => [{ loop }, nextRunAtMs / 1_000]),
    },
    {
      name: "sandwatch_loop_interval_seconds",
      help: "The usual interval between two runs of the loop.",
      labels: ["loop"],
      read: () => readLoops().map(({ loop, intervalMs }) => [{ loop }, intervalMs / 1_000]),
    },
  ];
}

function processGauges(options: ProcessGaugeOptions): readonly GaugeFamily[] {
  const { build, readReload, readActivity } = options;
  return [
    {
      name: "sandwatch_build_info",
      help: "The running version; always 1.",
      labels: ["version", "revision", "node_version"],
      read: () => [[{ ...build, node_version: process.version }, 1]],
    },
    {
      name: "sandwatch_config_last_reload_successful",
      help: "Whether the configuration was valid when it was last read.",
      labels: [],
      read: () => [[{}, Number(readReload().successful)]],
    },
    {
      name: "sandwatch_config_last_reload_success_timestamp_seconds",
      help: "When the configuration in use was read, in seconds since 1970.",
      labels: [],
      read: () => [[{}, readReload().successAtMs / 1_000]],
    },
    {
      name: "sandwatch_active",
      help: "Whether this process polls, stores and delivers; 0: it stands by, or has not renewed its lease.",
      labels: [],
      read: () => [[{}, Number(readActivity().mayActForMs > 0)]],
    },
    {
      name: "sandwatch_lease_remaining_seconds",
      help: "How long this process may go on without renewing its lease on PostgreSQL; 0 if it has none; absent on SQLite.",
      labels: [],
      read: () => {
        const { mayActForMs } = readActivity();
        return mayActForMs === Infinity ? [] : [[{}, mayActForMs / 1_000]];
      },
    },
  ];
}
