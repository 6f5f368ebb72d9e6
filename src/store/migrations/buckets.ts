import type { DatabaseSync } from "node:sqlite";

/**
 * The open buckets are apart: every poll writes one of them, and those of all targets lie close
 * together. The closed ones are written once, and each resolution has a table, so that what is kept
 * for long leaves no holes where what is kept for short was between.
 */
export function addBuckets(database: DatabaseSync): void {
  database.exec(`
  create table bucket_names (
    id integer primary key,
    name text not null unique
  ) strict;

  create table open_buckets (
    resolution text not null,
    target_id integer not null references targets (id),
    start_at_ms integer not null,
    booked_ms integer not null,
    unobserved_ms integer not null,
    body blob not null,
    primary key (resolution, target_id)
  ) strict, without rowid;

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
