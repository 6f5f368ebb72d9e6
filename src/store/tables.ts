import type { Generated, Kysely } from "kysely";
import type { DeviationProblem } from "../fleet/deviation.ts";
import type { FailureReason, Operation } from "../fleet/model.ts";
import type { Resolution } from "../fleet/buckets.ts";
import type { Presence, Status } from "../fleet/status.ts";
import type { IncidentMessage, ResolvedReason, SubjectKind } from "../alerts/notification.ts";
import type { ProbeFailure } from "../alerts/probe.ts";
import type { Severity } from "../alerts/rule.ts";
import type { AccountColumns, ExtentColumns } from "./occupancy-columns.ts";

export type Db = Kysely<Tables>;

/** The types of the store's rows. `schema.ts` says what each column means. */
export interface Tables {
  commit_sequence: { value: number };
  targets: {
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
  };
  sandboxes: {
    target_id: number;
    sandbox_id: string;
    status: Status;
    benchmark: string | null;
    missing: number;
  };
  servers: {
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
  };
  changes: {
    seq: number;
    at_ms: number;
    server: number;
    from_status: Presence;
    to_status: Presence;
    dwell_ms: number | null;
    observation: "missing" | "seen" | null;
  };
  server_names: { id: Generated<number>; name: string };
  target_buckets: BucketKey &
    ExtentColumns & {
      recorded_ms: number;
      unobserved_ms: number;
    };
  open_buckets: {
    target_id: number;
    resolution: Resolution;
    bucket: string;
  };
  occupancy: BucketKey &
    AccountColumns & {
      name_id: number;
    };
  gaps: {
    target_id: number;
    from_at_ms: number;
    to_at_ms: number;
  };
  incidents: {
    id: string;
    rule: string;
    rule_fingerprint: string;
    severity: Severity;
    receivers: string;
    subject: SubjectKind;
    target_id: number | null;
    sandbox_id: string | null;
    server_id: string | null;
    server_name: string | null;
    region: string | null;
    key: string | null;
    probe: string | null;
    receiver: string | null;
    status: Presence | null;
    previous_status: Presence | null;
    phase: "pending" | "firing" | "resolved";
    held_since_ms: number;
    held_since_polls: number;
    clear_since_ms: number | null;
    notified_at_clock_ms: number | null;
    flapping: number;
    started_at_ms: number;
    fired_at_ms: number | null;
    resolved_at_ms: number | null;
    resolved_reason: ResolvedReason | null;
    revision: number;
  };
  flap_records: {
    target_id: number;
    rule: string;
    rule_fingerprint: string;
    sandbox_id: string;
    server_id: string;
    server_name: string | null;
    entered: string;
  };
  pool_clocks: {
    rule: string;
    scope: string;
    ms: number;
  };
  probes: {
    id: Generated<number>;
    probe: string;
    region: string;
    key: string;
    attempted_runs: number;
    attempted_ms: number;
    failures_in_a_row: number;
    last_success_at_ms: number | null;
  };
  probe_results: {
    probe_id: number;
    run: number;
    at_ms: number;
    reason: ProbeFailure | null;
    detail: string | null;
    duration_ms: number | null;
  };
  probe_flap_records: {
    probe_id: number;
    rule: string;
    rule_fingerprint: string;
    entered: string;
  };
  silences: {
    id: string;
    match: string;
    author: string;
    reason: string;
    created_at_ms: number;
    starts_at_ms: number;
    ends_at_ms: number;
  };
  acknowledgements: {
    incident_id: string;
    author: string;
    note: string | null;
    at_ms: number;
    notified: number;
  };
  outbox_items: {
    seq: Generated<number>;
    receiver: string;
    incident_id: string;
    subject: string;
    type: IncidentMessage;
    body: string;
    caused_at_ms: number;
    notification_seq: number | null;
  };
  notifications: {
    seq: Generated<number>;
    id: string;
    receiver: string;
    state: "pending" | "delivered" | "dead" | "discarded";
    created_at_ms: number;
    caused_at_ms: number;
    attempts: number;
    next_attempt_at_ms: number;
    give_up_at_ms: number;
    waits_for: number | null;
    last_reason: string | null;
    settled_at_ms: number | null;
    body: string;
  };
  delivery_attempts: {
    id: Generated<number>;
    notification_seq: number;
    at_ms: number;
    reason: string | null;
    detail: string | null;
  };
  group_times: {
    receiver: string;
    group_name: string;
    notified_at_ms: number;
  };
  drift: {
    operation: Operation;
    region: string;
    field: string;
    problem: DeviationProblem;
    word: string;
    example: string | null;
    count: number;
    first_seen_at_ms: number;
    last_seen_at_ms: number;
  };
}

interface BucketKey {
  resolution: Resolution;
  start_at_ms: number;
  target_id: number;
}
