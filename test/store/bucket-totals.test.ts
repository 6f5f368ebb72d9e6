import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openDatabase } from "../../src/store/database.ts";
import { migrations } from "../../src/store/migrations.ts";
import { addBucketTotals } from "../../src/store/migrations/bucket-totals.ts";
import { createStore } from "../../src/store/store.ts";
import { tally } from "../core/support/ledger.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { openBooks } from "./support/books.ts";
import { totalsIn } from "./support/totals.ts";

const hourMs = 60 * 60_000;
const stays = [{ serverName: "git", status: "occupied", ms: 90_000 } as const];

/** Two days of two targets. */
async function bookTwoDays(path: string): Promise<Awaited<ReturnType<typeof openBooks>>> {
  const books = await openBooks(path);
  for (const key of ["research", "support"]) {
    const target = await books.book({ region: "us", key });
    const tallies = [tally("git", { idle: 1, occupied: 2 }), tally("jira", { error: 1 })];
    for (let hour = 0; hour < 48; hour += 0.5) await target.pass(hourMs / 2, tallies, { stays });
  }
  return books;
}

it("hours and days of a store from before there were totals are told of as before", async () => {
  const path = join(tempFolder(), "sandwatch.db");
  const books = await bookTwoDays(path);
  const hours = await totalsIn(books.store, "1h");
  const days = await totalsIn(books.store, "1d");
  await books.store.close();
  const old = new DatabaseSync(path);
  for (const resolution of ["1h", "1d"]) {
    old.exec(`drop trigger totals_${resolution}_go; drop table totals_${resolution};`);
  }
  old.exec("drop table change_bundles; drop table incident_revisions");
  old.exec("alter table pages rename column legend to texts");
  old.exec("alter table acknowledgements drop column notified");
  old.exec(`pragma user_version = ${migrations.indexOf(addBucketTotals)}`);
  old.close();
  const { kysely, close } = openDatabase(path);
  const store = createStore(kysely, close);
  expect(hours).toHaveLength(98);
  expect(await totalsIn(store, "1h")).toEqual(hours);
  expect(await totalsIn(store, "1d")).toEqual(days);
  await store.close();
});

it("totals go with their buckets", async () => {
  await using books = await bookTwoDays(":memory:");
  const hours = await totalsIn(books.store, "1h");
  const boundMs = (hours[0]?.startMs ?? 0) + 5 * hourMs;
  while (await books.store.prune.buckets("1h", boundMs));
  expect(await totalsIn(books.store, "1h")).toEqual(
    hours.filter(({ startMs }) => startMs >= boundMs - hourMs),
  );
});
