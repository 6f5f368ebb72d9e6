import type { Generated } from "kysely";
import type { DeviationProblem } from "../core/deviation.ts";
import type { FailureReason, Operation } from "../core/model.ts";
import type { Resolution } from "../fleet/buckets.ts";
import type { Presence, Status } from "../fleet/status.ts";
import type { IncidentMessage, ResolvedReason, SubjectKind } from "../core/notification.ts";
import type { ProbeFailure } from "../core/probe-progress.ts";
import type { Severity } from "../core/rule.ts";
import type { AccountColumns, ExtentColumns } from "./occupancy-columns.ts";

/** The store's tables, as `schema.ts` makes them: what columns mean is said there. */
export interface Tables {
  commit_sequence: { value: number };
  targets: TargetsTable;
  sandboxes: SandboxesTable;
  servers: ServersTable;
  changes: ChangesTable;
  server_names: { id: Generated<number>; name: string };
  target_buckets: TargetBucketsTable;
  open_buckets: OpenBucketsTable;
  occupancy: OccupancyTable;
  gaps: GapsTable;
  incidents: IncidentsTable;
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
  version: number;
  attempted_polls: number;
  attempted_ms: number;
  observed_polls: number;
  observed_ms: number;
  failures_in_a_row: number;
  last_failure: FailureReason | null;
  last_poll_at_ms: number | null;
  last_success_at_ms: number | null;
  last_complete: number;
  open_bucket: string | null;
}

export interface SandboxesTable {
  target_id: number;
  sandbox_id: string;
  status: Status;
  benchmark: string | null;
  missing: number;
}

export interface ServersTable {
  id: Generated<number>;
  target_id: number;
  sandbox_id: string;
  server_id: string;
  server_name: string | null;
  benchmark: string | null;
  tags: string | null;
  status: Status;
  since_at_ms: number;
  since_observed_ms: number;
  since_witnessed: number;
  missing: number;
  gone_at_ms: number | null;
}

export interface ChangesTable {
  seq: number;
  at_ms: number;
  server: number;
  from_status: Presence;
  to_status: Presence;
  dwell_ms: number | null;
  observation: "missing" | "seen" | null;
}

interface BucketKey {
  resolution: Resolution;
  start_at_ms: number;
  target_id: number;
}

type Mutable<Columns> = { -readonly [Column in keyof Columns]: Columns[Column] };

export interface TargetBucketsTable extends BucketKey, Mutable<ExtentColumns> {
  recorded_ms: number;
  unobserved_ms: number;
}

export interface OccupancyTable extends BucketKey, Mutable<AccountColumns> {
  name_id: number;
}

export interface OpenBucketsTable {
  target_id: number;
  resolution: Resolution;
  bucket: string;
}

export interface GapsTable {
  target_id: number;
  from_at_ms: number;
  to_at_ms: number;
}

export interface IncidentsTable {
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
  notified_at_clock_ms: number | null;
  flapping: number;
  started_at_ms: number;
  fired_at_ms: number | null;
  resolved_at_ms: number | null;
  resolved_reason: ResolvedReason | null;
  /** Greater than that of all that were written before; those written at once share one. */
  revision: number;
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
  notified: number;
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
  notified_at_ms: number;
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
