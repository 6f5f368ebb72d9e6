/** How answers of the service differ from its interface. */
export const driftMigration = `
  create table drift (
    operation text not null,
    region text not null,
    field text not null,
    problem text not null,
    word text not null,
    example text,
    count integer not null,
    first_seen_at_ms integer not null,
    last_seen_at_ms integer not null,
    primary key (operation, region, field, problem, word)
  ) strict, without rowid;
  create index drift_by_time on drift (last_seen_at_ms);
`;
