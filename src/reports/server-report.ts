import { targetName } from "../fleet/model.ts";
import type { ReportField } from "./fields.ts";
import type { IncidentTime } from "./incident-times.ts";
import { firstChangeMs } from "./kept.ts";
import { timeText } from "./plan.ts";
import type { ReportRow } from "./row.ts";
import { openServerBook } from "./server-book.ts";
import { statesAt } from "./server-states.ts";
import type { PresentTarget } from "./server-states.ts";
import type { BucketExtent, ReportSources } from "./sources.ts";
import { readTargetTimes } from "./target-times.ts";
import type { ReportedTarget, TargetFilter } from "./targets.ts";
import type { TimeRange } from "./time-range.ts";

export interface ServerReport {
  readonly range: TimeRange;
  readonly fields: readonly ReportField[];
  readonly targets: readonly ReportedTarget[];
  readonly filter: TargetFilter;
  readonly extents: readonly BucketExtent[];
  readonly incidents: readonly IncidentTime[];
  readonly sources: Pick<ReportSources, "changes" | "occupancy" | "present">;
}

/**
 * Rows of single servers or sandboxes, made of what changed: the servers that there are tell what
 * there was when the range began, and from then on each is followed.
 */
export async function reportServers(
  report: ServerReport,
): Promise<{ readonly rows: readonly ReportRow[]; readonly notes: readonly string[] }> {
  const { targets, sources, filter, incidents } = report;
  const read = (direction: "asc" | "desc") => (within: TimeRange) =>
    sources.changes.between({ ...within, direction, ...filter, observations: true });
  const present: PresentTarget[] = [];
  for (const { target } of targets) {
    present.push({ target, present: await sources.present(target) });
  }
  const states = await statesAt(report.range.fromMs, present, read("desc"));
  const keptFromMs = states.size === 0 ? -Infinity : await firstChangeMs(sources, filter);
  const fromMs = Math.max(report.range.fromMs, Math.min(keptFromMs, report.range.toMs));
  const lastPolls = present.map((each) => each.present.lastPollAtMs);
  const range = { ...report.range, fromMs };
  const times = await readTargetTimes({ ...report, range, lastPolls });

  const book = openServerBook(report.fields, (target) => {
    const time = times.get(targetName(target));
    if (!time) throw new TypeError("only servers of the report's targets are followed");
    return time;
  });
  for (const state of states.values()) book.set(state, fromMs);
  for await (const change of read("asc")({ fromMs, toMs: report.range.toMs })) {
    const time = times.get(targetName(change.target));
    if (time && change.atMs <= time.toMs) book.follow(change);
  }
  for (const incident of incidents) {
    const target = targets[incident.target]?.target;
    if (target) book.addIncident(incident, target);
  }
  const isCut = fromMs > report.range.fromMs;
  return {
    rows: book.rows(),
    notes: isCut ? [`Changes are kept since ${timeText(fromMs)}: the report starts then.`] : [],
  };
}
