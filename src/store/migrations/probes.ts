/** What probes saw, and the incidents that they have. */
export const probesMigration = `
  alter table incidents add column probe text;

  create table probes (
    id integer primary key,
    probe text not null,
    region text not null,
    key text not null,
    attempted_runs integer not null,
    attempted_ms real not null,
    failures_in_a_row integer not null,
    last_success_at_ms integer,
    unique (probe, region, key)
  ) strict;

  create table probe_results (
    probe_id integer not null references probes (id),
    run integer not null,
    at_ms integer not null,
    reason text,
    detail text,
    duration_ms real,
    primary key (probe_id, run)
  ) strict, without rowid;

  create table probe_flap_records (
    probe_id integer not null references probes (id),
    rule text not null,
    rule_fingerprint text not null,
    entered text not null,
    primary key (probe_id, rule)
  ) strict, without rowid;
`;
