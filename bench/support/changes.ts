import { DatabaseSync } from "node:sqlite";
import { openDatabase } from "../../src/store/sqlite/database.ts";

export const names = 20;

export interface ChangesWanted {
  readonly targets: number;
  /** Of each target. */
  readonly servers: number;
  readonly changesEach: number;
  readonly fromMs: number;
  readonly toMs: number;
  /** Whether it is not to be rolled up. */
  readonly isRolledUp: boolean;
}

/** Writes a new store of targets, of which each server changes as often, between idle and occupied or now and then error. */
export async function writeChanges(file: string, wanted: ChangesWanted): Promise<void> {
  const { targets, servers: ofTarget, changesEach, fromMs, toMs, isRolledUp } = wanted;
  await openDatabase(file).close();
  using database = new DatabaseSync(file);
  const servers = targets * ofTarget;
  const stepMs = (toMs - fromMs) / changesEach;
  const numbers = (count: number): string =>
    `(with recursive n (n) as (select 0 union all select n + 1 from n where n + 1 < ${count}) select n from n)`;
  database.exec(`pragma synchronous = off; begin;
    insert into value_sets (id, name, benchmark, tags, used_at_ms) select n + 1, 'name-' || n, '', '[]', 0 from ${numbers(names)};
    insert into targets (id, region, key, attempted_polls, attempted_ms, observed_polls, observed_ms, failures_in_a_row,
      last_complete, servers, recorded_from_ms, recorded_to_ms, last_poll_at_ms, rolled_up_to_ms)
    select n + 1, 'past', 'key-' || n, 1, 1, 1, 1, 0, 1, ${ofTarget}, ${fromMs}, ${toMs}, ${toMs}, ${isRolledUp ? toMs : "null"}
    from ${numbers(targets)};
    create temp table states as
    select s.n as server, cast(${fromMs} + t.n * ${stepMs} as integer) +
        (t.n > 0) * (s.n * 2654435761 + t.n * 40503) % cast(${stepMs} as integer) as at_ms,
      case when (t.n + s.n) % 2 = 0 then 'idle' when (t.n + s.n / 2) % 50 = 0 then 'error' else 'occupied' end as status
    from ${numbers(changesEach)} as t cross join ${numbers(servers)} as s;
    insert into servers (id, target_id, sandbox_id, server_id, server_name, status, has_stated, since_at_ms, since_observed_ms,
      since_witnessed, missing)
    select server + 1, server / ${ofTarget} + 1, printf('box-%06d', server / 13), printf('server-%06d', server),
      'name-' || (server % ${names}), status, 1, max(at_ms), max(at_ms) - ${fromMs}, 1, 0
    from states group by server;
    insert into changes (seq, target_id, at_ms, server, from_status, to_status, dwell_ms, observation, was_missing, value_set)
    select row_number() over (order by at_ms, server), server / ${ofTarget} + 1, at_ms, server + 1,
      coalesce(lag(status) over before, 'absent'), status, at_ms - lag(at_ms) over before, null, 0, server % ${names} + 1
    from states window before as (partition by server order by at_ms) order by 1;
    update commit_sequence set value = ${servers * changesEach};
    commit`);
}
