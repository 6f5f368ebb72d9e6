/** Tells in which order incidents were last written, so that what is new can be asked for. */
export const incidentRevisions = `
  alter table incidents add column revision integer not null default 0;
  create index incidents_by_revision on incidents (revision);
`;
