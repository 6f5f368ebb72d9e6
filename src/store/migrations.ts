import type { DatabaseSync } from "node:sqlite";
import { packServers } from "./pack-servers.ts";

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
];

function sql(statements: string): Migration {
  return (database) => database.exec(statements);
}
