import type { DatabaseSync } from "node:sqlite";
import { changeBundles } from "./migrations/change-bundles.ts";
import { countRevisions } from "./migrations/count-revisions.ts";
import { digestSubjects } from "./migrations/digest-subjects.ts";
import { orderIncidents } from "./migrations/order-incidents.ts";
import { driftMigration } from "./migrations/drift.ts";
import { incidentRevisions } from "./migrations/incident-revisions.ts";
import { packChanges } from "./migrations/pack-changes.ts";
import { addBucketTotals } from "./migrations/bucket-totals.ts";
import { addBuckets } from "./migrations/buckets.ts";
import { probesMigration } from "./migrations/probes.ts";
import { narrowPages } from "./migrations/narrow-pages.ts";
import { packServers } from "./migrations/pack-servers.ts";

/** Run within a transaction. */
export type Migration = (database: DatabaseSync) => void;

/**
 * Forward only: a migration that was released is never edited, a later one mends it. The number of
 * migrations applied is the database's `user_version`.
 */
export const migrations: readonly Migration[] = [
  sql(`
  create table targets (
    id integer primary key,
    region text not null,
    key text not null,
    attempted_polls integer not null,
    attempted_ms real not null,
    observed_polls integer not null,
    observed_ms real not null,
    failures_in_a_row integer not null,
    last_failure text,
    last_poll_at_ms integer,
    last_success_at_ms integer,
    last_complete integer not null,
    unique (region, key)
  ) strict;

  create table sandboxes (
    target_id integer not null references targets (id),
    sandbox_id text not null,
    status text not null,
    benchmark text,
    missing integer not null,
    primary key (target_id, sandbox_id)
  ) strict, without rowid;

  create table servers (
    target_id integer not null references targets (id),
    sandbox_id text not null,
    server_id text not null,
    server_name text,
    benchmark text,
    tags text not null,
    status text not null,
    since_at_ms integer not null,
    since_observed_ms real not null,
    since_witnessed integer not null,
    missing integer not null,
    primary key (target_id, sandbox_id, server_id)
  ) strict, without rowid;

  create table changes (
    id integer primary key,
    target_id integer not null references targets (id),
    at_ms integer not null,
    sandbox_id text not null,
    server_id text not null,
    server_name text,
    from_status text not null,
    to_status text not null
  ) strict;
  create index changes_by_time on changes (at_ms);

  create table incidents (
    id text primary key,
    rule text not null,
    rule_fingerprint text not null,
    severity text not null,
    receivers text not null,
    subject text not null,
    target_id integer not null references targets (id),
    sandbox_id text,
    server_id text,
    server_name text,
    status text,
    previous_status text,
    phase text not null,
    held_since_ms real not null,
    held_since_polls integer not null,
    clear_since_ms real,
    told_at_clock_ms real,
    started_at_ms integer not null,
    fired_at_ms integer,
    resolved_at_ms integer,
    resolved_reason text
  ) strict, without rowid;
  create index incidents_open on incidents (target_id) where phase <> 'resolved';
  create index incidents_by_time on incidents (started_at_ms);

  create table notifications (
    seq integer primary key autoincrement,
    id text not null unique,
    receiver text not null,
    state text not null,
    created_at_ms integer not null,
    caused_at_ms integer not null,
    attempts integer not null,
    next_attempt_at_ms integer not null,
    give_up_at_ms integer not null,
    waits_for integer references notifications (seq),
    last_reason text,
    settled_at_ms integer,
    body text not null
  ) strict;
  create index notifications_ready on notifications (receiver, next_attempt_at_ms, seq)
    where state = 'pending' and waits_for is null;
  create index notifications_waiting on notifications (waits_for) where waits_for is not null;
  create index notifications_pending on notifications (receiver, caused_at_ms)
    where state = 'pending';
  create index notifications_dead on notifications (receiver) where state = 'dead';

  create table outbox_items (
    seq integer primary key autoincrement,
    receiver text not null,
    incident_id text not null,
    subject text not null,
    type text not null,
    body text not null,
    caused_at_ms integer not null,
    notification_seq integer references notifications (seq)
  ) strict;
  create index outbox_items_open on outbox_items (receiver, seq, caused_at_ms, notification_seq)
    where notification_seq is null;
  create index outbox_items_of_notification on outbox_items (notification_seq)
    where notification_seq is not null;
  create index outbox_items_of_subject on outbox_items (subject, receiver);
  `),
  (database) => {
    database.exec(`
  create table pages (
    target_id integer not null references targets (id),
    page_id integer not null,
    last_edit integer not null,
    sandbox_count integer not null,
    records blob not null,
    texts text not null,
    primary key (target_id, page_id)
  ) strict;

  create table page_edits (
    id integer primary key autoincrement,
    target_id integer not null references targets (id),
    words blob not null
  ) strict;
  create index page_edits_of_target on page_edits (target_id);

  create table changes_of_polls (
    id integer primary key,
    target_id integer not null references targets (id),
    at_ms integer not null,
    change_count integer not null,
    body text not null
  ) strict;
  insert into changes_of_polls (target_id, at_ms, change_count, body)
    select target_id, at_ms, count(*),
      json_group_array(json_array(sandbox_id, server_id, server_name, from_status, to_status))
    from (select * from changes order by id)
    group by target_id, at_ms
    order by min(id);
  drop table changes;
  alter table changes_of_polls rename to changes;
  create index changes_by_time on changes (at_ms);
  `);
    packServers(database);
    database.exec("drop table servers; drop table sandboxes;");
  },
  sql(`
  create table all_incidents (
    id text primary key,
    rule text not null,
    rule_fingerprint text not null,
    severity text not null,
    receivers text not null,
    subject text not null,
    target_id integer references targets (id),
    sandbox_id text,
    server_id text,
    server_name text,
    region text,
    key text,
    receiver text,
    status text,
    previous_status text,
    phase text not null,
    held_since_ms real not null,
    held_since_polls integer not null,
    clear_since_ms real,
    told_at_clock_ms real,
    flapping integer not null,
    started_at_ms integer not null,
    fired_at_ms integer,
    resolved_at_ms integer,
    resolved_reason text
  ) strict, without rowid;
  insert into all_incidents
    select id, rule, rule_fingerprint, severity, receivers, subject, target_id, sandbox_id,
      server_id, server_name, null, null, null, status, previous_status, phase, held_since_ms,
      held_since_polls, clear_since_ms,
      case phase when 'firing' then coalesce(told_at_clock_ms, held_since_ms) end,
      0, started_at_ms, fired_at_ms, resolved_at_ms, resolved_reason
    from incidents;
  drop table incidents;
  alter table all_incidents rename to incidents;
  create index incidents_open on incidents (target_id) where phase <> 'resolved';
  create index incidents_by_time on incidents (started_at_ms);
  create index incidents_resolved on incidents (resolved_at_ms) where phase = 'resolved';
  create index incidents_of_server on incidents (server_id) where server_id is not null;
  create index incidents_of_receiver on incidents (receiver, started_at_ms)
    where receiver is not null;

  create table flap_records (
    target_id integer not null references targets (id),
    rule text not null,
    rule_fingerprint text not null,
    sandbox_id text not null,
    server_id text not null,
    server_name text,
    entered text not null,
    primary key (target_id, rule, sandbox_id, server_id)
  ) strict, without rowid;

  create table silences (
    id text primary key,
    match text not null,
    author text not null,
    reason text not null,
    created_at_ms integer not null,
    starts_at_ms integer not null,
    ends_at_ms integer not null
  ) strict, without rowid;
  create index silences_by_end on silences (ends_at_ms);

  create table acknowledgements (
    incident_id text primary key,
    author text not null,
    note text,
    at_ms integer not null
  ) strict, without rowid;

  create table delivery_attempts (
    id integer primary key,
    notification_seq integer not null references notifications (seq),
    at_ms integer not null,
    reason text,
    detail text
  ) strict;
  create index attempts_of_notification on delivery_attempts (notification_seq);

  create table group_times (
    receiver text not null,
    group_name text not null,
    told_at_ms integer not null,
    primary key (receiver, group_name)
  ) strict, without rowid;
  create index group_times_told on group_times (receiver, told_at_ms);

  create table pool_clocks (
    rule text not null,
    scope text not null,
    ms real not null,
    primary key (rule, scope)
  ) strict, without rowid;

  create index incidents_open_untargeted on incidents (subject)
    where target_id is null and phase <> 'resolved';
  create index outbox_items_of_incident on outbox_items (incident_id);
  create index notifications_done on notifications (settled_at_ms)
    where state in ('delivered', 'discarded');
  create index notifications_dead_since on notifications (settled_at_ms) where state = 'dead';
  `),
  packChanges,
  addBuckets,
  sql(probesMigration),
  sql(driftMigration),
  sql(incidentRevisions),
  addBucketTotals,
  sql(changeBundles),
  narrowPages,
  // From here on the body of an open bucket may say what goes on, which no earlier version can read.
  sql(""),
  orderIncidents,
  digestSubjects,
  sql(countRevisions),
  // From here on edits may restate pages, which no earlier version can read.
  sql(""),
  // From here on items lack what is null and what has columns of its own, which no earlier version fills in.
  sql(""),
  sql("alter table acknowledgements add column notified integer not null default 1;"),
];

function sql(statements: string): Migration {
  return (database) => database.exec(statements);
}
