import type { Kysely } from "kysely";
import { subjectKey } from "../alerts/grouping.ts";
import type { OutboxItem } from "../alerts/notification.ts";
import { batches, paced } from "../lib/paced.ts";
import { bodyOfItem } from "./bodies.ts";
import { prepareRows } from "./prepared.ts";
import { subjectDigest } from "./subject-digest.ts";
import type { Tables } from "./tables.ts";

/** So many rows go into one statement: few enough that the prepared ones stay few. */
const rowsPerInsert = 50;

const insertRows = prepareRows((db, rows: readonly ReturnType<typeof itemToRow>[]) =>
  db.insertInto("outbox_items").values(rows),
);

function itemToRow(item: OutboxItem) {
  return {
    receiver: item.receiver,
    incident_id: item.incident.id,
    subject: subjectDigest(item.receiver, subjectKey(item)),
    type: item.type,
    body: bodyOfItem(item),
    caused_at_ms: item.causedAtMs,
    notification_seq: null,
  };
}

/** To be called within the transaction of the change that causes the items, never outside it. */
export async function insertOutboxItems(
  db: Kysely<Tables>,
  items: readonly OutboxItem[],
): Promise<void> {
  for await (const chunk of paced(batches(items, rowsPerInsert))) {
    await insertRows(db, chunk.map(itemToRow));
  }
}
