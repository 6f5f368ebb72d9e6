import { Counter, Histogram, type Registry } from "prom-client";
import type { Verdict } from "../alerts/judge.ts";
import type { WatchedView } from "../alerts/target-view.ts";
import type { Drift } from "../fleet/drift.ts";
import type { FailureReason, Target } from "../fleet/model.ts";
import { TargetCounts } from "./target-counts.ts";

/** Counts polls and what they show, by target where that is needed. */
export function createPollMetrics(registry: Registry, regions: Iterable<string>) {
  const registers = [registry];
  const counts = new WeakMap<Target, TargetCounts>();
  const duration = new Histogram({
    name: "sandwatch_poll_duration_seconds",
    help: "Duration of polls, with retries and the wait for the rate limit.",
    labelNames: ["region"],
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
    registers,
  });
  const commitDuration = new Histogram({
    name: "sandwatch_store_commit_duration_seconds",
    help: "Duration of commits of polls that changed something, with the wait for others in the same transaction.",
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5],
    registers,
  });
  const lost = new Counter({
    name: "sandwatch_store_commit_failures_total",
    help: "Polls whose result could not be stored.",
    registers,
  });
  for (const region of regions) duration.zero({ region });

  /** They begin when the target is first shown or polled. */
  const countsOf = ({ target, state }: WatchedView): TargetCounts => {
    const known = counts.get(target);
    if (known) return known;
    const made = new TargetCounts(state.snapshot.tallies.names.keys());
    counts.set(target, made);
    return made;
  };
  return {
    countsOf,
    /** A poll ended, before it is committed. Its duration is null if nothing was sent. */
    polled(view: WatchedView, failure: FailureReason | null, durationMs: number | null): void {
      countsOf(view).countPoll(failure);
      const { region } = view.target;
      if (durationMs !== null) duration.observe({ region }, durationMs / 1_000);
    },
    /** A poll was committed, and the target shows it. The duration is null if it had no commit of its own. */
    committed(view: WatchedView, verdict: Verdict, durationMs: number | null): void {
      if (durationMs !== null) commitDuration.observe(durationMs / 1_000);
      countsOf(view).countVerdict(verdict);
    },
    lost: (): void => lost.inc(),
  };
}

/** One request to the service. */
interface RequestView {
  readonly region: string;
  readonly operation: string;
  /** The HTTP status, or the reason why there was none. */
  readonly code: string;
  readonly durationMs: number;
}

/** Past this many distinct fields of an operation in a region, further ones are `other`. */
export const maxDistinctFields = 100;

/** Counts the requests to the service, and how its responses deviate from the interface. */
export function createServiceMetrics(
  registry: Registry,
  regions: Iterable<string>,
  operations: readonly string[],
) {
  const registers = [registry];
  const requests = new Counter({
    name: "sandwatch_api_requests_total",
    help: "Requests to the service, by HTTP status or by the reason why there was none.",
    labelNames: ["region", "operation", "code"],
    registers,
  });
  const duration = new Histogram({
    name: "sandwatch_api_request_duration_seconds",
    help: "Duration of requests to the service, to the last byte of the response.",
    labelNames: ["region", "operation"],
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  });
  const deviations = new Counter({
    name: "sandwatch_schema_deviations_total",
    help: "Deviations of responses from the interface of the service.",
    labelNames: ["region", "operation", "field"],
    registers,
  });
  for (const region of regions) {
    for (const operation of operations) {
      requests.inc({ region, operation, code: "200" }, 0);
      duration.zero({ region, operation });
    }
  }

  // The service chooses the names of fields, and each is a series for the life of the process.
  const knownFields = new Map<string, Set<string>>();
  const boundedField = (region: string, operation: string, field: string): string => {
    const scope = JSON.stringify([region, operation]);
    const known = knownFields.get(scope) ?? new Set();
    knownFields.set(scope, known);
    if (known.size >= maxDistinctFields && !known.has(field)) return "other";
    known.add(field);
    return field;
  };
  return {
    requested: ({ region, operation, code, durationMs }: RequestView): void => {
      requests.inc({ region, operation, code });
      duration.observe({ region, operation }, durationMs / 1_000);
    },
    deviated({ region, operation, deviations: found }: Drift): void {
      for (const { field, count } of found) {
        deviations.inc({ region, operation, field: boundedField(region, operation, field) }, count);
      }
    },
  };
}

/** Counts how notifications reach their receivers. */
export function createDeliveryMetrics(
  registry: Registry,
  receivers: readonly string[],
  failureReasons: readonly string[],
) {
  const registers = [registry];
  const delivered = new Counter({
    name: "sandwatch_notifications_total",
    help: "Notifications that the receiver accepted.",
    labelNames: ["receiver"],
    registers,
  });
  const failures = new Counter({
    name: "sandwatch_notification_failures_total",
    help: "Failed deliveries, by reason; also notifications that expired or could not be read from the store.",
    labelNames: ["receiver", "reason"],
    registers,
  });
  const delay = new Histogram({
    name: "sandwatch_notification_delay_seconds",
    help: "Time from the poll that observed the cause until the receiver accepted the notification.",
    labelNames: ["receiver"],
    buckets: [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 7_200, 43_200, 86_400],
    registers,
  });
  for (const receiver of receivers) {
    delivered.inc({ receiver }, 0);
    delay.zero({ receiver });
    for (const reason of failureReasons) failures.inc({ receiver, reason }, 0);
  }
  return {
    attemptFailed: (receiver: string, reason: string): void => failures.inc({ receiver, reason }),
    delivered(receiver: string, delaySeconds: number): void {
      delivered.inc({ receiver });
      delay.observe({ receiver }, delaySeconds);
    },
    /** For these reasons no delivery has failed. */
    dead(receiver: string, reason: string): void {
      if (reason === "expired" || reason === "unreadable") failures.inc({ receiver, reason });
    },
  };
}

/** Of the process, which outlives its daemons. */
export function addTakeOvers(registry: Registry, read: () => number): void {
  new Counter({
    name: "sandwatch_take_overs_total",
    help: "How often this process has become active after it stood by.",
    registers: [registry],
    collect() {
      this.reset();
      this.inc(read());
    },
  });
}

/** Counts requests and connections that the HTTP server refused. */
export function createHttpMetrics(registry: Registry, reasons: readonly string[]) {
  const refused = new Counter({
    name: "sandwatch_http_refused_total",
    help: "Requests and connections that sandwatch refused, by reason.",
    labelNames: ["reason"],
    registers: [registry],
  });
  for (const reason of reasons) refused.inc({ reason }, 0);
  return { refused: (reason: string): void => refused.inc({ reason }) };
}
