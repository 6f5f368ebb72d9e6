import type { DatabaseSync } from "node:sqlite";

/**
 * Keeps incidents in the order in which they opened. In the order of their ids, which are random, each
 * one that a poll wrote changed a part of the file of its own.
 */
export function orderIncidents(database: DatabaseSync): void {
  database.exec(`
  create table ordered_incidents (
    seq integer primary key,
    id text not null,
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
    probe text,
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
    resolved_reason text,
    revision integer not null default 0
  ) strict;
  insert into ordered_incidents
    select null, id, rule, rule_fingerprint, severity, receivers, subject, target_id, sandbox_id,
      server_id, server_name, region, key, probe, receiver, status, previous_status, phase,
      held_since_ms, held_since_polls, clear_since_ms, told_at_clock_ms, flapping, started_at_ms,
      fired_at_ms, resolved_at_ms, resolved_reason, revision
    from incidents
    order by started_at_ms, id;
  drop table incidents;
  alter table ordered_incidents rename to incidents;
  create unique index incidents_by_id on incidents (id);
  create index incidents_open on incidents (target_id) where phase <> 'resolved';
  create index incidents_by_time on incidents (started_at_ms, id);
  create index incidents_resolved on incidents (resolved_at_ms, id) where phase = 'resolved';
  create index incidents_of_server on incidents (server_id) where server_id is not null;
  create index incidents_of_receiver on incidents (receiver, started_at_ms)
    where receiver is not null;
  create index incidents_open_untargeted on incidents (subject)
    where target_id is null and phase <> 'resolved';
  create index incidents_by_revision on incidents (revision, id);
`);
}
