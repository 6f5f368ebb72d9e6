import { DatabaseSync } from "node:sqlite";
import { openDatabase } from "../../src/store/sqlite/database.ts";

export interface ChangesWanted {
  readonly servers: number;
  readonly changesEach: number;
  readonly fromMs: number;
  readonly toMs: number;
}

/** Writes a new store with one target, of which each server changes evenly between idle and occupied. */
export async function writeChanges(
  file: string,
  { servers, changesEach, fromMs, toMs }: ChangesWanted,
): Promise<void> {
  await openDatabase(file).close();
  using database = new DatabaseSync(file);
  const stepMs = (toMs - fromMs) / changesEach;
  const numbers = (count: number): string =>
    `(with recursive n (n) as (select 0 union all select n + 1 from n where n + 1 < ${count}) select n from n)`;
  database.exec(`pragma synchronous = off; begin;
    insert into value_sets (id, name, benchmark, tags, used_at_ms) select n + 1, 'name-' || n, '', '[]', 0 from ${numbers(20)};
    insert into targets (id, region, key, attempted_polls, attempted_ms, observed_polls, observed_ms, failures_in_a_row,
      last_complete, servers, recorded_from_ms, recorded_to_ms, last_poll_at_ms, rolled_up_to_ms)
    values (1, 'past', 'key-0', 1, 1, 1, 1, 0, 1, ${servers}, ${fromMs}, ${toMs}, ${toMs}, ${toMs});
    insert into servers (id, target_id, sandbox_id, server_id, server_name, status, has_stated, since_at_ms, since_observed_ms,
      since_witnessed, missing)
    select n + 1, 1, printf('box-%06d', n / 13), printf('server-%06d', n), 'name-' || (n % 20), 'idle', 1, ${fromMs}, 0, 1, 0
    from ${numbers(servers)};
    insert into changes (seq, target_id, at_ms, server, from_status, to_status, dwell_ms, observation, was_missing, value_set)
    select row_number() over (order by t.n, s.n), 1,
      cast(${fromMs} + t.n * ${stepMs} + (t.n > 0) * s.n * ${stepMs} / ${servers} as integer), s.n + 1,
      case when t.n = 0 then 'absent' when t.n % 2 = 1 then 'idle' else 'occupied' end,
      case when t.n % 2 = 1 then 'occupied' else 'idle' end,
      case when t.n = 0 then null else cast(${stepMs} as integer) end, null, 0, s.n % 20 + 1
    from ${numbers(changesEach)} as t cross join ${numbers(servers)} as s;
    update commit_sequence set value = ${servers * changesEach};
    commit`);
}
