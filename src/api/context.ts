import type { Drift, DriftRecord } from "../fleet/drift.ts";
import type { Target } from "../fleet/model.ts";
import type { NotifiedReport } from "../alerts/notification.ts";
import type { ProbeView } from "../alerts/probe.ts";
import type { RetryBudget } from "../lib/retry.ts";
import type { Rule } from "../alerts/rule.ts";
import type { WatchedView } from "../alerts/target-view.ts";
import type { HeldSuppressions } from "./suppressions.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { Secret } from "../lib/secret.ts";
import type { CommitLoop } from "../polling/commit-loop.ts";
import type { KeyLimits } from "../polling/key-limits.ts";
import type { ReportSources } from "../reports/report-sources.ts";
import type { ServiceClient } from "../service/client.ts";
import type { ComposeAcknowledged } from "../store/suppressions.ts";
import type { Store } from "../store/store.ts";

/** Everything that operations use. Each names the fields that it needs, and its caller must have those. */
export interface ApiContext {
  readonly clock: Clock;
  readonly log: Logger;
  readonly store: Store;
  readonly reports: ReportSources;
  readonly targets: readonly WatchedView[];
  readonly probes: readonly ProbeView[];
  readonly rules: readonly Rule[];
  /** The names of the configured receivers of alerts. */
  readonly receivers: readonly string[];
  readonly suppressions: HeldSuppressions;
  readonly drift: { readonly records: () => Promise<readonly DriftRecord[]> };
  readonly commits: Pick<CommitLoop, "act">;
  readonly newId: () => string;
  readonly composeAcknowledged: ComposeAcknowledged;
  /** When a report or a replayed notification is attempted, and until when it is retried. UTC milliseconds. */
  readonly retryTimes: (receiver: string) => {
    readonly nextAttemptAtMs: number;
    readonly giveUpAtMs: number;
  };
  /** Polls a target at once. */
  readonly pollNow: (target: Target) => Promise<void>;
  readonly reportSending: ReportSending;
  readonly calls: ServiceCalls;
}

export type Needs<Field extends keyof ApiContext> = Pick<ApiContext, Field>;

/** Reports need these fields. */
export type HistoryContext = Needs<"reports" | "clock">;

/** Operations on the current state of targets and servers need these fields. */
export type FleetContext = Needs<"targets" | "rules" | "probes">;

/** All operations that only read need these fields together. */
export type StoreContext = HistoryContext &
  FleetContext &
  Needs<"store" | "receivers" | "suppressions" | "drift">;

/** Deleting the history of a key needs these fields. */
export interface ForgetContext extends Needs<"store" | "clock" | "log"> {
  readonly targets: readonly { readonly target: Target }[];
}

/** A report as messages show it. */
export interface ReportMessage extends NotifiedReport {
  readonly summary: string;
  readonly truncated: number;
}

/** Sends configured reports. */
export interface ReportSending {
  readonly names: readonly string[];
  /** Reads a report as of now, and sends it unless it is a dry run. Null: there is no report of that name. */
  send(
    name: string,
    isDryRun: boolean,
  ): Promise<(ReportMessage & { readonly receivers: readonly string[] }) | null>;
}

/** How operations call the service. */
export interface ServiceCalls {
  readonly service: Pick<ServiceClient, "look" | "examine">;
  readonly recordDrift: (drift: Drift) => void;
  /** Shared with the polls and probes of this process. */
  readonly limits: KeyLimits;
  /** Shared with the polls. Default: no request is sent a second time. */
  readonly budget?: RetryBudget;
  readonly targets: readonly Target[];
  readonly keys: readonly { readonly name: string; readonly apiKey: Secret }[];
  readonly clock: Clock;
  /** Between two polls of a target. Default: nothing is polled. */
  readonly pollIntervalMs?: number;
  /** The largest response of the service. */
  readonly maxBodyBytes: number;
  /** Ends calls that are in progress. */
  readonly signal: AbortSignal;
  /** How many look-ups and conformance checks are in progress. Counted by their operations. */
  readonly inProgress: { lookups: number; checks: number };
}
