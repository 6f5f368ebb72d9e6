import type { Insertable, Selectable } from "kysely";
import type { FlapRecord } from "../alerts/flap-record.ts";
import { subjectFacts } from "../alerts/incident.ts";
import { noSubjectFacts, subjectKinds, subjectOf, type Subject } from "../alerts/subjects.ts";
import { batches, paced } from "../lib/iterables.ts";
import { listIn, numberIn, oneOf } from "./row-reading.ts";
import { deleteRow, prepareUpsert } from "./sql-helpers.ts";
import type { Db, Tables } from "./tables.ts";

const recordsAtOnce = 20;

type FlapTable = "flap_records" | "region_flap_records" | "probe_flap_records";

/**
 * Writes what was counted of an owner, and deletes what is not counted any more. To be called within the transaction of the
 * incidents.
 */
function prepareFlaps<Name extends FlapTable, Owner>(
  table: Name,
  key: readonly (keyof Tables[Name] & string)[],
  toRow: (owner: Owner, record: FlapRecord) => Insertable<Tables[Name]>,
) {
  const upsert = prepareUpsert(table, key);
  return async (trx: Db, owner: Owner, records: readonly FlapRecord[]): Promise<void> => {
    const isCounted = ({ enteredMs }: FlapRecord): boolean => enteredMs.length > 0;
    const rows = records.map((record) => [isCounted(record), toRow(owner, record)] as const);
    const rowsOf = (counted: boolean) => rows.flatMap(([is, row]) => (is === counted ? [row] : []));
    await upsert(trx, rowsOf(true));
    for await (const some of paced(batches(rowsOf(false), recordsAtOnce))) {
      for (const row of some) await deleteRow(trx, table, key, row);
    }
  };
}

function columnsOf({ rule, ruleFingerprint, enteredMs }: FlapRecord): FlapColumns {
  return { rule, rule_fingerprint: ruleFingerprint, entered: JSON.stringify(enteredMs) };
}

export const writeFlaps = prepareFlaps(
  "flap_records",
  ["target_id", "rule", "sandbox_id", "server_id"],
  (targetId: number, record) => {
    const { sandboxId, serverId, serverName } = subjectFacts(null, record.subject);
    return {
      ...columnsOf(record),
      target_id: targetId,
      subject: record.subject.kind,
      sandbox_id: sandboxId ?? "",
      server_id: serverId ?? "",
      server_name: serverName,
    };
  },
);

export const writeRegionFlaps = prepareFlaps(
  "region_flap_records",
  ["region", "rule"],
  (region: string, record) => ({ region, ...columnsOf(record) }),
);

export const writeProbeFlaps = prepareFlaps(
  "probe_flap_records",
  ["probe_id", "rule"],
  (probeId: number, record) => ({ probe_id: probeId, ...columnsOf(record) }),
);

/** What the rows of every table have. */
interface FlapColumns {
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
