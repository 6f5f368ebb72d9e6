import type { Kysely, Selectable } from "kysely";
import type { FlapRecord } from "../core/flap-record.ts";
import type { FlapRecordsTable, Tables } from "./tables.ts";

/** To be called within the transaction of the poll that changed them. */
export async function writeFlaps(
  db: Kysely<Tables>,
  targetId: number,
  records: readonly FlapRecord[],
): Promise<void> {
  for (const { rule, ruleFingerprint, subject, enteredMs } of records) {
    if (subject.kind !== "server") continue;
    const key = {
      target_id: targetId,
      rule,
      sandbox_id: subject.sandboxId,
      server_id: subject.serverId,
    };
    if (enteredMs.length === 0) {
      await db
        .deleteFrom("flap_records")
        .where("target_id", "=", targetId)
        .where("rule", "=", rule)
        .where("sandbox_id", "=", key.sandbox_id)
        .where("server_id", "=", key.server_id)
        .execute();
      continue;
    }
    const content = {
      rule_fingerprint: ruleFingerprint,
      server_name: subject.serverName,
      entered: JSON.stringify(enteredMs),
    };
    await db
      .insertInto("flap_records")
      .values({ ...key, ...content })
      .onConflict((conflict) => conflict.doUpdateSet(content))
      .execute();
  }
}

export function flapFromRow(row: Selectable<FlapRecordsTable>): FlapRecord {
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

function readNumbers(json: string): readonly number[] {
  const value: unknown = JSON.parse(json);
  return Array.isArray(value) ? value.filter((each) => typeof each === "number") : [];
}
