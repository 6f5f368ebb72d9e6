import type { DatabaseSync } from "node:sqlite";
import { totalOfBody } from "../bucket-body.ts";
import { packTotal } from "../bucket-totals.ts";
import { NumberWriter } from "../packed-numbers.ts";

/**
 * Hours and days once more with all names together, for reports that ask for none: small, and beside one
 * another in the order in which they are read.
 */
export function addBucketTotals(database: DatabaseSync): void {
  const output = new NumberWriter();
  for (const resolution of ["1h", "1d"]) {
    database.exec(`
    create table totals_${resolution} (
      start_at_ms integer not null,
      target_id integer not null references targets (id),
      body blob not null,
      primary key (start_at_ms, target_id)
    ) strict, without rowid;

    create trigger totals_${resolution}_go after delete on buckets_${resolution} begin
      delete from totals_${resolution}
      where start_at_ms = old.start_at_ms and target_id = old.target_id;
    end;
    `);
    const insert = database.prepare(`insert into totals_${resolution} values (?, ?, ?)`);
    // One at a time: there may be more than memory has room for.
    for (const row of database.prepare(`select * from buckets_${resolution}`).iterate()) {
      const startMs = Number(row["start_at_ms"]);
      const bookedMs = Number(row["booked_ms"]);
      const unobservedMs = Number(row["unobserved_ms"]);
      const body = row["body"];
      if (!(body instanceof Uint8Array)) throw new TypeError("a bucket has no body");
      const total = totalOfBody({ startMs, bookedMs, unobservedMs }, body);
      insert.run(startMs, Number(row["target_id"]), packTotal(total, output));
    }
  }
}
