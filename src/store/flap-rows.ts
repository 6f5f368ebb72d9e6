import type { Kysely, Selectable } from "kysely";
import type { FlapRecord } from "../alerts/flap-record.ts";
import { batches, paced } from "../lib/paced.ts";
import { prepareUpsert } from "./prepared.ts";
import type { Tables } from "./tables.ts";

const recordsAtOnce = 20;

const upsertFlaps = prepareUpsert("flap_records", ["target_id", "rule", "sandbox_id", "server_id"]);

/** To be called within the transaction of the poll that changed them. */
export async function writeFlaps(
  db: Kysely<Tables>,
  targetId: number,
  records: readonly FlapRecord[],
): Promise<void> {
  for await (const some of paced(batches(records, recordsAtOnce))) {
    for (const record of some) await writeFlap(db, targetId, record);
  }
}

async function writeFlap(
  db: Kysely<Tables>,
  targetId: number,
  { rule, ruleFingerprint, subject, enteredMs }: FlapRecord,
): Promise<void> {
  if (subject.kind !== "server") return;
  const { sandboxId, serverId, serverName } = subject;
  if (enteredMs.length === 0) {
    await db
      .deleteFrom("flap_records")
      .where("target_id", "=", targetId)
      .where("rule", "=", rule)
      .where("sandbox_id", "=", sandboxId)
      .where("server_id", "=", serverId)
      .execute();
    return;
  }
  const row = {
    target_id: targetId,
    rule,
    rule_fingerprint: ruleFingerprint,
    sandbox_id: sandboxId,
    server_id: serverId,
    server_name: serverName,
    entered: JSON.stringify(enteredMs),
  };
  await upsertFlaps(db, [row]);
}

export function flapId(row: Selectable<Tables["flap_records"]>): string {
  return [row.target_id, row.rule, row.sandbox_id, row.server_id].join(" ");
}

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
    enteredMs: readNumbers(row.entered),
  };
}

/** @throws when it is no JSON array of numbers */
export function readNumbers(json: string): readonly number[] {
  const value: unknown = JSON.parse(json);
  if (Array.isArray(value) && value.every((each) => typeof each === "number")) return value;
  throw new TypeError("a stored list of numbers is none");
}
