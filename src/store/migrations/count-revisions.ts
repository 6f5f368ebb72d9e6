/**
 * The newest revision of incidents, whatever became of them: one that was pending may be dropped, and the
 * next one had its revision again.
 */
export const countRevisions = `
  create table incident_revisions (newest integer not null) strict;
  insert into incident_revisions select coalesce(max(revision), 0) from incidents;
`;
