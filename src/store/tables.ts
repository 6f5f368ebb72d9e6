import type { Generated } from "kysely";
import type { DeviationProblem } from "../core/deviation.ts";
import type { FailureReason, Operation, Presence } from "../core/model.ts";
import type { Resolution } from "../core/occupancy/bucket.ts";
import type { IncidentMessage, ResolvedReason, SubjectKind } from "../core/notification.ts";
import type { ProbeFailure } from "../core/probe-progress.ts";
import type { Severity } from "../core/rule.ts";

/** The store's tables. `_ms` are milliseconds; `_at_ms` are UTC since 1970; flags are 0 or 1. */
export interface Tables {
  targets: TargetsTable;
  pages: PagesTable;
  page_edits: PageEditsTable;
  changes: ChangesTable;
  change_bundles: ChangeBundlesTable;
  bucket_names: BucketNamesTable;
  open_coarse_buckets: OpenBucketsTable;
  /** A view: those, and the ones of the finest resolution, which the targets' rows hold. */
  open_buckets: OpenBucketsTable;
  buckets_5m: BucketsTable;
  buckets_1h: BucketsTable;
  buckets_1d: BucketsTable;
  totals_1h: TotalsTable;
  totals_1d: TotalsTable;
  gaps: GapsTable;
  incidents: IncidentsTable;
  incident_revisions: IncidentRevisionsTable;
  flap_records: FlapRecordsTable;
  pool_clocks: PoolClocksTable;
  probes: ProbesTable;
  probe_results: ProbeResultsTable;
  probe_flap_records: ProbeFlapRecordsTable;
  silences: SilencesTable;
  acknowledgements: AcknowledgementsTable;
  outbox_items: OutboxItemsTable;
  notifications: NotificationsTable;
  delivery_attempts: DeliveryAttemptsTable;
  group_times: GroupTimesTable;
  drift: DriftTable;
}

export interface TargetsTable {
  id: Generated<number>;
  region: string;
  key: string;
  /** Polls ended, well or badly, and the time between them: the clock of `on: target` rules. */
  attempted_polls: number;
  attempted_ms: number;
  /** Polls accepted, and the time between consecutive ones: the clock of `on: server` rules. */
  observed_polls: number;
  observed_ms: number;
  failures_in_a_row: number;
  last_failure: FailureReason | null;
  last_poll_at_ms: number | null;
  last_success_at_ms: number | null;
  /** Whether the last poll was accepted and complete: only then is the time after it observed. */
  last_complete: number;
  /** The bucket of five minutes that is open; null: nothing was booked yet. */
  open_start_at_ms: number | null;
  open_booked_ms: number | null;
  open_unobserved_ms: number | null;
  open_body: Uint8Array | null;
}

/** A target's snapshot in packed pages, in the form that it has in memory. */
export interface PagesTable {
  target_id: number;
  page_id: number;
  /** Edits up to this one are in the page already. */
  last_edit: number;
  sandbox_count: number;
  /** Records of sandboxes and servers: see the snapshot's `Page`. */
  records: Uint8Array;
  /** What the records name by number, as JSON: see `page-rows.ts`. */
  legend: string;
}

/** Words of pages that changed since the pages were written: see `page-edits.ts`. */
export interface PageEditsTable {
  id: Generated<number>;
  target_id: number;
  words: Uint8Array;
}

/** The changes and lapses that a poll showed, many to a row: one poll may show very many. */
export interface ChangesTable {
  /** Grows in the order in which they were kept, and is never used again. */
  id: Generated<number>;
  target_id: number;
  at_ms: number;
  change_count: number;
  lapse_count: number;
  /** A JSON array of the texts that the words name by number. */
  texts: string;
  /** See `PackedChanges`. */
  words: Uint8Array;
}

/** Rows of changes that were kept long ago, together: see `change-bundle.ts`. */
export interface ChangeBundlesTable {
  /** Rows up to this one are in this bundle or in an earlier one. */
  last_row: number;
  first_row: number;
  /** Of the earliest and the latest of its changes. */
  first_at_ms: number;
  last_at_ms: number;
  body: Uint8Array;
}

/** The names of servers as buckets refer to them. */
export interface BucketNamesTable {
  id: Generated<number>;
  /** A JSON string. */
  name: string;
}

/** What is booked of a target for a stretch of the calendar: closed, and never changed any more. */
export interface BucketsTable {
  id: Generated<number>;
  target_id: number;
  start_at_ms: number;
  booked_ms: number;
  unobserved_ms: number;
  /** The rest as packed numbers: see `bucket-body.ts`. */
  body: Uint8Array;
}

/** Closed buckets with all names together: see `bucket-totals.ts`. They go with their buckets. */
export interface TotalsTable {
  start_at_ms: number;
  target_id: number;
  body: Uint8Array;
}

/** The buckets that are still being added to, one of each resolution of a target. */
export interface OpenBucketsTable extends Omit<BucketsTable, "id"> {
  resolution: Resolution;
}

/** Stretches of the calendar in which nobody watched a target; those of a target never overlap. */
export interface GapsTable {
  target_id: number;
  from_at_ms: number;
  to_at_ms: number;
}

export interface IncidentsTable {
  /** Grows in the order in which they were first written. */
  seq: Generated<number>;
  id: string;
  rule: string;
  /** The rule's condition when the incident opened: a changed rule does not own it any more. */
  rule_fingerprint: string;
  severity: Severity;
  /** A JSON array of names: who was told that it fires. */
  receivers: string;
  subject: SubjectKind;
  /** Null for a pool, a probe and a receiver. */
  target_id: number | null;
  sandbox_id: string | null;
  server_id: string | null;
  server_name: string | null;
  /** This and the next only of a pool and a probe: otherwise the target has them. */
  region: string | null;
  key: string | null;
  probe: string | null;
  receiver: string | null;
  status: Presence | null;
  previous_status: Presence | null;
  phase: "pending" | "firing" | "resolved";
  /** Readings of the subject's clock, as milliseconds and as polls. */
  held_since_ms: number;
  held_since_polls: number;
  clear_since_ms: number | null;
  /** Null while a silence keeps it from being told. */
  told_at_clock_ms: number | null;
  flapping: number;
  started_at_ms: number;
  fired_at_ms: number | null;
  resolved_at_ms: number | null;
  resolved_reason: ResolvedReason | null;
  /** Greater than that of all that were written before; those written at once share one. */
  revision: Generated<number>;
}

/** One row. */
export interface IncidentRevisionsTable {
  newest: number;
}

/** When servers of late entered the condition of a rule with a limit on that. */
export interface FlapRecordsTable {
  target_id: number;
  rule: string;
  rule_fingerprint: string;
  sandbox_id: string;
  server_id: string;
  server_name: string | null;
  /** A JSON array of readings of the target's observed clock, milliseconds. */
  entered: string;
}

/** How long the pools of a rule and scope were watched, while any of the rule's incidents was open. */
export interface PoolClocksTable {
  rule: string;
  scope: string;
  ms: number;
}

/** A probe as it runs in one region with one key. */
export interface ProbesTable {
  id: Generated<number>;
  probe: string;
  region: string;
  key: string;
  /** Runs ended, well or badly, and the time between them: the clock of `on: probe` rules. */
  attempted_runs: number;
  attempted_ms: number;
  failures_in_a_row: number;
  last_success_at_ms: number | null;
}

/** The latest runs of each. */
export interface ProbeResultsTable {
  probe_id: number;
  /** Counts the runs of the probe, from 1. */
  run: number;
  at_ms: number;
  /** Null: it succeeded. */
  reason: ProbeFailure | null;
  detail: string | null;
  /** Null: nothing was sent. */
  duration_ms: number | null;
}

/** When probes of late began to fail, under rules with a limit on that. */
export interface ProbeFlapRecordsTable {
  probe_id: number;
  rule: string;
  rule_fingerprint: string;
  /** A JSON array of readings of the probe's clock, milliseconds. */
  entered: string;
}

export interface SilencesTable {
  id: string;
  /** A `SilenceMatch` as JSON. */
  match: string;
  author: string;
  reason: string;
  created_at_ms: number;
  starts_at_ms: number;
  /** Moved to the moment when somebody ended it early. */
  ends_at_ms: number;
}

export interface AcknowledgementsTable {
  incident_id: string;
  author: string;
  note: string | null;
  at_ms: number;
  /** 0: a command stored it; its notifications are composed when the daemon starts. */
  notified: Generated<number>;
}

/** Attempts to deliver a notification: the first ten and the last ten, those between are dropped. */
export interface DeliveryAttemptsTable {
  id: Generated<number>;
  notification_seq: number;
  at_ms: number;
  /** Null: it was delivered. */
  reason: string | null;
  detail: string | null;
}

/** When a receiver was last told of a group. */
export interface GroupTimesTable {
  receiver: string;
  group_name: string;
  told_at_ms: number;
}

export interface OutboxItemsTable {
  seq: Generated<number>;
  receiver: string;
  incident_id: string;
  /** See `subjectDigest`. */
  subject: string;
  type: IncidentMessage;
  /** The rest of the `OutboxItem`, as JSON: see `bodyOfItem`. */
  body: string;
  caused_at_ms: number;
  /** Null until the delivery loop made it part of a notification. */
  notification_seq: number | null;
}

export interface NotificationsTable {
  /** Grows with every notification: the order of telling. */
  seq: Generated<number>;
  id: string;
  receiver: string;
  state: "pending" | "delivered" | "dead" | "discarded";
  created_at_ms: number;
  caused_at_ms: number;
  attempts: number;
  /** This and the next by the delivery loop's own clock, which runs evenly. */
  next_attempt_at_ms: number;
  give_up_at_ms: number;
  /** The latest earlier notification, still pending, to the same receiver about the same subject. */
  waits_for: number | null;
  last_reason: string | null;
  settled_at_ms: number | null;
  /** The whole `Notification` as JSON. */
  body: string;
}

/** How answers of the service differ from its interface. */
export interface DriftTable {
  operation: Operation;
  region: string;
  field: string;
  problem: DeviationProblem;
  /** A new word of an enumeration, each of which is a row; else empty. */
  word: string;
  example: string | null;
  count: number;
  first_seen_at_ms: number;
  last_seen_at_ms: number;
}
