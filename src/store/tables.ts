import type { Generated, Kysely } from "kysely";
import type { IncidentMessage, ResolvedReason } from "../alerts/notification.ts";
import type { ProbeFailure } from "../alerts/probe.ts";
import type { Severity } from "../alerts/rule.ts";
import type { SubjectKind } from "../alerts/subjects.ts";
import type { Counted, RolledUp } from "../fleet/buckets.ts";
import type { DeviationProblem } from "../fleet/deviation.ts";
import type { FailureReason, Operation, Presence, Status } from "../fleet/model.ts";
import type { GapReason } from "../fleet/recorded-time.ts";

export type Db = Kysely<Tables>;

type Texts<Column extends string> = Record<Column, string>;
type Numbers<Column extends string> = Record<Column, number>;
type OrNull<Columns> = { [Column in keyof Columns]: Columns[Column] | null };

/** The types of the store's rows. `schema.ts` says what each column means. */
export interface Tables {
  commit_sequence: Numbers<"value">;
  targets: { id: Generated<number> } & Texts<"region" | "key"> &
    Numbers<"attempted_polls" | "attempted_ms"> &
    Numbers<"observed_polls" | "observed_ms" | "failures_in_a_row" | "last_complete" | "servers"> &
    OrNull<Numbers<"last_status" | "failing_since_at_ms" | "last_poll_at_ms">> &
    OrNull<Numbers<"last_success_at_ms" | RecordedColumn | "rolled_up_to_ms">> & {
      last_failure: FailureReason | null;
    };
  sandboxes: Numbers<"target_id" | SinceColumn | "missing"> &
    Texts<"sandbox_id"> &
    OrNull<Texts<"benchmark"> & Numbers<"created_at_ms" | "gone_at_ms">> & {
      id: Generated<number>;
      status: Status;
      stated_status: Status | null;
    };
  servers: { id: Generated<number>; status: Status } & Texts<"sandbox_id" | "server_id"> &
    Numbers<"target_id" | "has_stated" | SinceColumn | "missing"> &
    OrNull<Texts<"server_name" | "benchmark" | "tags"> & Numbers<"gone_at_ms">>;
  value_sets: { id: Generated<number> } & Texts<"name" | "benchmark" | "tags"> &
    Numbers<"used_at_ms">;
  changes: Numbers<"seq" | "target_id" | "at_ms" | "was_missing" | "value_set"> &
    OrNull<Numbers<"server" | "sandbox" | "dwell_ms" | "previous_set">> & {
      from_status: Presence;
      to_status: Presence;
      observation: "missing" | "seen" | "updated" | null;
    };
  counted_values: { id: Generated<number>; value: string };
  rollups: Numbers<"start_at_ms" | "target_id" | "value_id" | "recorded_ms" | "gap_ms"> &
    Numbers<`${Status}_ms` | "unobserved_ms" | "exhausted_ms" | Status | "missing"> &
    OrNull<Numbers<"occupied_peak" | "peak"> & Texts<"dwells">> & {
      counted: Counted;
      resolution: RolledUp;
    };
  deleted_history: Numbers<"before_ms"> & { what: "changes" | RolledUp };
  gaps: Numbers<"target_id" | "from_at_ms"> & OrNull<Numbers<"to_at_ms">> & { reason: GapReason };
  incidents: Texts<"id" | "rule" | "rule_fingerprint"> &
    Numbers<"revision" | "held_since_ms" | "held_since_polls" | "flapping" | "started_at_ms"> &
    OrNull<Texts<"sandbox_id" | "server_id" | "server_name" | "benchmark">> &
    OrNull<Texts<"region" | "key" | "probe" | "receiver" | "inhibited_by">> &
    OrNull<Numbers<"target_id" | "clear_since_ms" | "notified_at_clock_ms">> &
    OrNull<Numbers<"fired_at_ms" | "resolved_at_ms">> & {
      severity: Severity;
      subject: SubjectKind;
      status: Presence | null;
      previous_status: Presence | null;
      phase: "pending" | "firing" | "resolved";
      resolved_reason: ResolvedReason | null;
    };
  incident_receivers: Texts<"incident_id" | "receiver"> & Numbers<"notified">;
  flap_records: Numbers<"target_id"> &
    Texts<"rule" | "rule_fingerprint" | "sandbox_id" | "server_id" | "entered"> &
    OrNull<Texts<"server_name">> & { subject: SubjectKind };
  region_flap_records: Texts<"region" | "rule" | "rule_fingerprint" | "entered">;
  pool_clocks: Texts<"rule" | "region" | "key"> & Numbers<"ms">;
  probes: { id: Generated<number> } & Texts<"probe" | "region" | "key"> &
    Numbers<"attempted_runs" | "attempted_ms" | "failures_in_a_row"> &
    OrNull<Numbers<"last_success_at_ms">>;
  probe_results: Numbers<"probe_id" | "run" | "at_ms"> &
    OrNull<Texts<"detail"> & Numbers<"duration_ms">> & { reason: ProbeFailure | null };
  probe_flap_records: Numbers<"probe_id"> & Texts<"rule" | "rule_fingerprint" | "entered">;
  silences: Texts<"id" | "match" | "author" | "reason"> &
    Numbers<"created_at_ms" | "starts_at_ms" | "ends_at_ms"> &
    OrNull<Texts<"changed_by"> & Numbers<"changed_at_ms">>;
  acknowledgements: Texts<"incident_id" | "author"> &
    OrNull<Texts<"note" | "ended_by"> & Numbers<"ends_at_ms">> &
    Numbers<"at_ms">;
  incident_notes: Texts<"incident_id" | "author" | "note"> & Numbers<"at_ms">;
  received_events: Texts<"receiver" | "event_id" | "remote_id"> &
    Numbers<"at_ms"> &
    OrNull<Texts<"alert">>;
  outbox_items: { seq: Generated<number>; type: IncidentMessage } & Texts<
    "receiver" | "incident_id" | "subject" | "body"
  > &
    Numbers<"caused_at_ms"> &
    OrNull<Numbers<"notification_seq">>;
  notifications: {
    seq: Generated<number>;
    state: "pending" | "delivered" | "dead" | "discarded";
  } & Texts<"id" | "receiver" | "body"> &
    Numbers<"created_at_ms" | "caused_at_ms" | "attempts"> &
    Numbers<"next_attempt_at_ms" | "give_up_at_ms"> &
    OrNull<Numbers<"waits_for" | "settled_at_ms"> & Texts<"last_reason" | "taken_by">>;
  delivery_attempts: { id: Generated<number> } & Numbers<"notification_seq" | "at_ms"> &
    OrNull<Texts<"reason" | "detail">>;
  scheduled_reports: Texts<"name" | "schedule"> & Numbers<"done_until_ms">;
  group_times: Texts<"receiver" | "group_name"> & Numbers<"notified_at_ms">;
  message_threads: Texts<"receiver" | "rule" | "group_name" | "message"> & Numbers<"at_ms">;
  drift: { operation: Operation; problem: DeviationProblem } & Texts<"region" | "field" | "word"> &
    Numbers<"count" | "first_seen_at_ms" | "last_seen_at_ms"> &
    OrNull<Texts<"example">>;
}

export type SinceColumn = "since_at_ms" | "since_observed_ms" | "since_witnessed";
export type RecordedColumn = "recorded_from_ms" | "recorded_to_ms";
