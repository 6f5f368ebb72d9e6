/**
 * Old changes, very many to a row and compressed: most rows of changes have one, and take twice the
 * room that it needs.
 */
export const changeBundles = `
create table change_bundles (
  last_row integer primary key,
  first_row integer not null,
  first_at_ms integer not null,
  last_at_ms integer not null,
  body blob not null
) strict;
create index change_bundles_by_end on change_bundles (last_at_ms);
`;
