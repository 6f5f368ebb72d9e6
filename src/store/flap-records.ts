import type { Selectable } from "kysely";
import type { FlapRecord } from "../alerts/flap-record.ts";
import { subjectFacts } from "../alerts/incident.ts";
import { noSubjectFacts, subjectKinds, subjectOf, type Subject } from "../alerts/subjects.ts";
import { batches, paced } from "../lib/iterables.ts";
import { listIn, numberIn, oneOf } from "./row-reading.ts";
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
      subject: record.subject.kind,
      server_name: subjectFacts(null, record.subject).serverName,
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

/** What the rows of every kind of subject have. */
export interface FlapColumns {
  readonly rule: string;
  readonly rule_fingerprint: string;
  readonly entered: string;
}

export function flapFromColumns(row: FlapColumns, subject: Subject): FlapRecord {
  const { rule, rule_fingerprint: ruleFingerprint, entered } = row;
  return { rule, ruleFingerprint, subject, enteredMs: listIn(JSON.parse(entered), numberIn) };
}

export function flapFromRow(row: Selectable<Tables["flap_records"]>): FlapRecord {
  const { sandbox_id: sandboxId, server_id: serverId, server_name: serverName } = row;
  const facts = { ...noSubjectFacts, sandboxId, serverId, serverName };
  return flapFromColumns(row, subjectOf(oneOf(subjectKinds, row.subject), facts));
}

/** Writes the records of one subject, which has at most one for each rule. */
export async function writeOwnFlaps(
  records: readonly FlapRecord[],
  upsert: (columns: FlapColumns) => Promise<unknown>,
  remove: (rule: string) => Promise<unknown>,
): Promise<void> {
  for (const { rule, ruleFingerprint, enteredMs } of records) {
    if (enteredMs.length === 0) await remove(rule);
    else
      await upsert({ rule, rule_fingerprint: ruleFingerprint, entered: JSON.stringify(enteredMs) });
  }
}
