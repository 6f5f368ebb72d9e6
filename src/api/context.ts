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

/** What reports need. */
export interface HistoryContext {
  readonly reports: ReportSources;
  readonly clock: Clock;
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

/** What operations that read the stored and the current state need. */
export interface StoreContext extends HistoryContext {
  readonly store: Store;
  readonly targets: readonly WatchedView[];
  readonly probes: readonly ProbeView[];
  readonly rules: readonly Rule[];
  /** The names of the configured receivers of alerts. */
  readonly receivers: readonly string[];
  readonly suppressions: HeldSuppressions;
  readonly drift: { readonly records: () => Promise<readonly DriftRecord[]> };
}

/** What operations that act on alerts need. Only a running daemon has it. */
export interface ActContext extends StoreContext {
  readonly log: Logger;
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
  readonly commits: Pick<CommitLoop, "act">;
}

/** What deleting the history of a key needs. */
export interface ForgetContext extends Pick<ActContext, "store" | "clock" | "log"> {
  readonly targets: readonly { readonly target: Target }[];
}

/** What operations that call the service need. */
export interface ServiceContext {
  readonly service: Pick<ServiceClient, "look" | "examine">;
  readonly recordDrift: (drift: Drift) => void;
  /** Shared with the polls and probes of this process. */
  readonly limits: KeyLimits;
  /** Shared with the polls. Default: no request is sent a second time. */
  readonly budget?: RetryBudget;
  readonly targets: readonly { readonly target: Target }[];
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

/** What operations on the current state of targets and servers need. */
export type FleetContext = Pick<StoreContext, "targets" | "rules" | "receivers" | "probes">;

export interface ApiContext extends ActContext, ServiceContext {
  readonly targets: readonly WatchedView[];
}
