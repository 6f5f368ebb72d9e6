import type { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import { statuses } from "../../core/model.ts";
import { ChangePacker } from "../../core/snapshot/packed-changes.ts";
import { batches } from "../../platform/paced.ts";
import { changesToRow } from "../change-rows.ts";

const presence = z.enum([...statuses, "absent"]);
const storedChanges = z.array(
  z.tuple([z.string(), z.string(), z.string().nullable(), presence, presence]),
);

/** As many to a row as polls write. */
const changesPerRow = 2_048;

/** Brings changes that were kept as JSON into words. How long the stays were was not kept. */
export function packChanges(database: DatabaseSync): void {
  database.exec(`
  alter table changes rename to json_changes;
  drop index changes_by_time;
  create table changes (
    id integer primary key autoincrement,
    target_id integer not null references targets (id),
    at_ms integer not null,
    change_count integer not null,
    lapse_count integer not null,
    texts text not null,
    words blob not null
  ) strict;
  create index changes_by_time on changes (at_ms, target_id);
  `);
  const insert = database.prepare(
    "insert into changes (target_id, at_ms, change_count, lapse_count, texts, words) values (?, ?, ?, ?, ?, ?)",
  );
  // One at a time: there may be more than memory has room for.
  for (const row of database.prepare("select * from json_changes order by id").iterate()) {
    const changes = storedChanges.parse(JSON.parse(String(row["body"])));
    for (const some of batches(changes, changesPerRow)) {
      const packer = new ChangePacker(some.length);
      for (const [sandboxId, serverId, serverName, from, to] of some) {
        packer.add({ sandboxId, serverId, serverName }, { from, to, stayMs: null, lapse: null });
      }
      const packed = changesToRow(Number(row["target_id"]), Number(row["at_ms"]), packer.finish());
      const { target_id, at_ms, change_count, lapse_count, texts, words } = packed;
      insert.run(target_id, at_ms, change_count, lapse_count, texts, words);
    }
  }
  database.exec("drop table json_changes");
}
