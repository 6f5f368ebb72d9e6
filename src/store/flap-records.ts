import type { Selectable } from "kysely";
import type { FlapRecord } from "../alerts/flap-record.ts";
import { batches, paced } from "../lib/paced.ts";
import { prepareUpsert } from "./queries.ts";
import { numbersIn } from "./row-reading.ts";
import type { Db, Tables } from "./tables.ts";

const recordsAtOnce = 20;

const upsertFlaps = prepareUpsert("flap_records", ["target_id", "rule", "sandbox_id", "server_id"]);

/** To be called within the transaction of the poll that changed them. */
export async function writeFlaps(
  trx: Db,
  targetId: number,
  records: readonly FlapRecord[],
): Promise<void> {
  for await (const some of paced(batches(records, recordsAtOnce))) {
    for (const record of some) await writeFlap(trx, targetId, record);
  }
}

async function writeFlap(
  trx: Db,
  targetId: number,
  { rule, ruleFingerprint, subject, enteredMs }: FlapRecord,
): Promise<void> {
  if (subject.kind !== "server") return;
  const { sandboxId, serverId, serverName } = subject;
  const key = { target_id: targetId, rule, sandbox_id: sandboxId, server_id: serverId };
  if (enteredMs.length === 0) {
    await trx
      .deleteFrom("flap_records")
      .where((eb) => eb.and(key))
      .execute();
    return;
  }
  const entered = JSON.stringify(enteredMs);
  const row = { ...key, rule_fingerprint: ruleFingerprint, server_name: serverName, entered };
  await upsertFlaps(trx, [row]);
}

export function flapId(row: Selectable<Tables["flap_records"]>): string {
  return [row.target_id, row.rule, row.sandbox_id, row.server_id].join(" ");
}

/** @throws when the row cannot be read */
export function flapFromRow(row: Selectable<Tables["flap_records"]>): FlapRecord {
  return {
    rule: row.rule,
    ruleFingerprint: row.rule_fingerprint,
    subject: {
      kind: "server",
      sandboxId: row.sandbox_id,
      serverId: row.server_id,
      serverName: row.server_name,
    },
    enteredMs: numbersIn(row.entered),
  };
}
