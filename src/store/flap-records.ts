import type { Selectable } from "kysely";
import type { FlapRecord } from "../alerts/flap-record.ts";
import { subjectFacts } from "../alerts/incident.ts";
import { batches, paced } from "../lib/iterables.ts";
import { listIn, numberIn } from "./damaged-rows.ts";
import { prepareUpsert } from "./sql-helpers.ts";
import type { Db, Tables } from "./tables.ts";

const recordsAtOnce = 20;

const upsertFlaps = prepareUpsert("flap_records", ["target_id", "rule", "sandbox_id", "server_id"]);

/** Within the transaction of the poll that changed them. */
export async function writeFlaps(
  trx: Db,
  targetId: number,
  records: readonly FlapRecord[],
): Promise<void> {
  const settled = records.filter(({ enteredMs }) => enteredMs.length === 0);
  const counted = records.filter(({ enteredMs }) => enteredMs.length > 0);
  await upsertFlaps(
    trx,
    counted.map((record) => ({
      ...flapKeyOf(targetId, record),
      rule_fingerprint: record.ruleFingerprint,
      subject: record.subject.kind === "server" ? "server" : "target",
      server_name: record.subject.kind === "server" ? record.subject.serverName : null,
      entered: JSON.stringify(record.enteredMs),
    })),
  );
  for await (const some of paced(batches(settled, recordsAtOnce))) {
    for (const record of some) {
      const key = flapKeyOf(targetId, record);
      await trx
        .deleteFrom("flap_records")
        .where((eb) => eb.and(key))
        .execute();
    }
  }
}

function flapKeyOf(targetId: number, { rule, subject }: FlapRecord) {
  const { sandboxId, serverId } = subjectFacts(null, subject);
  return { target_id: targetId, rule, sandbox_id: sandboxId ?? "", server_id: serverId ?? "" };
}

export function flapId(row: Selectable<Tables["flap_records"]>): string {
  return [row.target_id, row.rule, row.sandbox_id, row.server_id].join(" ");
}

export function flapFromRow(row: Selectable<Tables["flap_records"]>): FlapRecord {
  return {
    rule: row.rule,
    ruleFingerprint: row.rule_fingerprint,
    subject:
      row.subject === "target"
        ? { kind: "target" }
        : {
            kind: "server",
            sandboxId: row.sandbox_id,
            serverId: row.server_id,
            serverName: row.server_name,
          },
    enteredMs: listIn(JSON.parse(row.entered), numberIn),
  };
}

export function regionFlapFromRow(row: Selectable<Tables["region_flap_records"]>): FlapRecord {
  return {
    rule: row.rule,
    ruleFingerprint: row.rule_fingerprint,
    subject: { kind: "region", region: row.region },
    enteredMs: listIn(JSON.parse(row.entered), numberIn),
  };
}

const upsertRegionFlaps = prepareUpsert("region_flap_records", ["region", "rule"]);

/** Within the transaction of the incidents. */
export async function writeRegionFlaps(
  trx: Db,
  region: string,
  records: readonly FlapRecord[],
): Promise<void> {
  for (const { rule, ruleFingerprint, enteredMs } of records) {
    const key = { region, rule };
    if (enteredMs.length === 0) {
      await trx
        .deleteFrom("region_flap_records")
        .where((eb) => eb.and(key))
        .execute();
      continue;
    }
    const entered = JSON.stringify(enteredMs);
    await upsertRegionFlaps(trx, [{ ...key, rule_fingerprint: ruleFingerprint, entered }]);
  }
}
