import type { DatabaseSync } from "node:sqlite";

/**
 * Closed buckets are written once. Each resolution has a table, so that what is kept for long has no
 * holes where what is kept for short was. The finest that is open is written by every poll: it is in
 * the row that every poll writes anyway.
 */
export function addBuckets(database: DatabaseSync): void {
  database.exec(`
  create table bucket_names (
    id integer primary key,
    name text not null unique
  ) strict;

  alter table targets add column open_start_at_ms integer;
  alter table targets add column open_booked_ms integer;
  alter table targets add column open_unobserved_ms integer;
  alter table targets add column open_body blob;

  create table open_coarse_buckets (
    resolution text not null,
    target_id integer not null references targets (id),
    start_at_ms integer not null,
    booked_ms integer not null,
    unobserved_ms integer not null,
    body blob not null,
    primary key (resolution, target_id)
  ) strict, without rowid;

  create view open_buckets as
    select resolution, target_id, start_at_ms, booked_ms, unobserved_ms, body
    from open_coarse_buckets
    union all
    select '5m', id, open_start_at_ms, open_booked_ms, open_unobserved_ms, open_body
    from targets where open_body is not null;

  create table gaps (
    target_id integer not null references targets (id),
    from_at_ms integer not null,
    to_at_ms integer not null,
    primary key (target_id, from_at_ms)
  ) strict, without rowid;
  `);
  for (const table of ["buckets_5m", "buckets_1h", "buckets_1d"]) {
    database.exec(`
  create table ${table} (
    id integer primary key,
    target_id integer not null references targets (id),
    start_at_ms integer not null,
    booked_ms integer not null,
    unobserved_ms integer not null,
    body blob not null,
    unique (target_id, start_at_ms)
  ) strict;
  `);
  }
  database.exec(`
  create index buckets_1h_unseen on buckets_1h (target_id, start_at_ms)
    where booked_ms = 3600000 and unobserved_ms = 3600000;
  create index buckets_1d_unseen on buckets_1d (target_id, start_at_ms)
    where booked_ms = 86400000 and unobserved_ms = 86400000;
  `);
}
