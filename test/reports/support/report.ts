import { statuses } from "../../../src/fleet/model.ts";
import { countDwells } from "../../../src/fleet/dwell.ts";
import {
  readFields,
  type ReportedKind,
  type ReportField,
} from "../../../src/reports/report-fields.ts";
import { openReport } from "../../../src/reports/open-report.ts";
import type { Report, ReportRow } from "../../../src/reports/report-rows.ts";
import type { ReportSources } from "../../../src/reports/report-sources.ts";
import type { TargetFilter } from "../../../src/store/occupancy-history.ts";
import { openZone } from "../../../src/reports/zone.ts";

export interface Asked {
  readonly from: string;
  readonly to: string;
  readonly by: string;
  readonly tz?: string;
  /** Default: the end of the range. */
  readonly now?: string;
  readonly filter?: TargetFilter;
  readonly of?: ReportedKind;
}

export interface Reported {
  readonly report: Report;
  readonly rows: readonly ReportRow[];
}

export function fieldsOf(by: string): readonly ReportField[] {
  const read = readFields(by);
  if ("allowed" in read) throw new Error(read.allowed);
  return read.fields;
}

/** @param asked its times whole, with an offset */
export async function reportOf(sources: ReportSources, asked: Asked): Promise<Reported> {
  const zone = openZone(asked.tz ?? "UTC");
  if (!zone) throw new Error(`no zone ${asked.tz}`);
  const query = {
    of: asked.of ?? "servers",
    range: { fromMs: Date.parse(asked.from), toMs: Date.parse(asked.to) },
    fields: fieldsOf(asked.by),
    zone,
    filter: asked.filter ?? {},
    nowMs: Date.parse(asked.now ?? asked.to),
    after: null,
  };
  const report = await openReport(query, sources);
  const rows: ReportRow[] = [];
  for await (const { row } of report.rows) rows.push(row);
  const notes = [...report.notes, ...(await report.coverageNotes())];
  return { report: { ...report, notes }, rows };
}

/** All that rows have in common with what they add up to. */
export function addUp(rows: readonly ReportRow[]): Readonly<Record<string, number>> {
  const sum = (valueOf: (row: ReportRow) => number): number =>
    rows.reduce((total, row) => total + valueOf(row), 0);
  return {
    ...Object.fromEntries(statuses.map((status) => [status, sum(({ ms }) => ms[status])])),
    unobserved: sum(({ unobservedMs }) => unobservedMs),
    dwells: sum(({ dwells }) => countDwells(dwells)),
    dwellMs: sum(({ dwells }) => dwells.sumMs),
    incidents: sum(({ incidents }) => incidents),
    leastRecoveryMs: sum(({ recoveries }) => recoveries.leastMs),
    mostRecoveryMs: sum(({ recoveries }) => recoveries.mostMs),
  };
}
