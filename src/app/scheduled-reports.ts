import type { HistoryContext, Needs, ReportMessage, ReportSending } from "../api/context.ts";
import { createApi } from "../api/operation.ts";
import type { CallApi } from "../api/operation.ts";
import { reportOccupancy, type RowView } from "../api/operations/occupancy.ts";
import { timeText } from "../api/view-fields.ts";
import type { ScheduledReport } from "../config/config.ts";
import { formatDuration } from "../fleet/text.ts";
import { counted } from "../fleet/text.ts";
import { parseCronTimes } from "../lib/cron-times.ts";
import { notificationId } from "../notify/compose.ts";
import { reportLine, reportSummary } from "../api/figures.ts";
import { isRangeFault, readTimeRange } from "../reports/time-range.ts";
import { openZone, utc } from "../reports/zone.ts";
import type { Chore } from "./upkeep.ts";

/** Upkeep looks every minute, and reading a large history takes a while. */
const lateAfterMs = 5 * 60_000;

/**
 * Sends reports on their schedules. All is read from the store.
 *
 * The text is made when a report is due, and is stored with the fact that it was: a process that is killed before makes it
 * again, and afterwards each receiver and each attempt gets the same. The HTML, which is large, is made for each attempt
 * (`notify/receivers/email.ts`).
 */
export function createScheduledReports(
  reports: readonly ScheduledReport[],
  context: HistoryContext &
    Needs<"store" | "log" | "retryTimes"> & {
      /** Called after a commit that added notifications to the outbox. */
      readonly onOutbox: () => void;
    },
) {
  const { store, clock, log, retryTimes, onOutbox } = context;
  const api = createApi<HistoryContext>(context);

  const queued = ({ name }: ScheduledReport, count: number, lateMs: number | null): void => {
    const late = lateMs === null ? {} : { late_seconds: Math.round(lateMs / 1_000) };
    const minutes = Math.round((lateMs ?? 0) / 60_000);
    log.info(
      { event: "report.queued", report: name, notifications: count, ...late },
      `report ${name}: ${counted(count, "notification")} queued${lateMs === null ? "" : `; it was due ${formatDuration(minutes * 60_000)} ago`}`,
    );
    onOutbox();
  };

  const adopt = (): Promise<void> =>
    store.scheduledReports.adopt(
      reports.map(({ name, schedule, timeZone }) => ({
        name,
        schedule: `${schedule} ${timeZone}`,
      })),
      clock.now().utcMs,
    );

  const sendDue = async (report: ScheduledReport): Promise<void> => {
    const { name, schedule, timeZone } = report;
    const nowMs = clock.now().utcMs;
    // Of several that were missed, the latest.
    const dueMs = parseCronTimes(schedule, timeZone)?.latest(nowMs) ?? null;
    const doneUntilMs = await store.scheduledReports.doneUntilMs(name);
    if (dueMs === null || doneUntilMs === null) return;
    // The clock was set back: otherwise nothing would be due until it has caught up.
    if (doneUntilMs > nowMs) return adopt();
    if (dueMs <= doneUntilMs) return;
    const message = await readMessage(api, report, dueMs);
    const notifications = notificationsOf(report, message, dueMs, clock.now().utcMs, retryTimes);
    const count = await store.scheduledReports.enqueue(name, dueMs, notifications);
    if (count > 0) queued(report, count, nowMs - dueMs > lateAfterMs ? nowMs - dueMs : null);
  };

  const sending: ReportSending = {
    names: reports.map(({ name }) => name),
    async send(name, isDryRun) {
      const report = reports.find((each) => each.name === name);
      if (!report) return null;
      const message = await readMessage(api, report, clock.now().utcMs);
      if (!isDryRun) {
        const [id, nowMs] = [crypto.randomUUID(), clock.now().utcMs];
        const notifications = notificationsOf(report, message, id, nowMs, retryTimes);
        await store.outbox.compose(notifications);
        queued(report, notifications.length, null);
      }
      return { ...message, receivers: report.receivers };
    },
  };

  return {
    sending,
    /** To be called before the chores. */
    adopt,
    forgetOthers: (): Promise<void> => store.scheduledReports.forgetOthers(sending.names),
    /** One for each report, so that one that fails does not keep back the others. */
    chores: reports.map((report): Chore => ({
      what: `sending the report ${report.name}`,
      async step() {
        await sendDue(report);
        return false;
      },
    })),
  };
}

/** @param sending identifies it among those of the report */
function notificationsOf(
  { name, receivers }: ScheduledReport,
  { summary, truncated, ...report }: ReportMessage,
  sending: number | string,
  nowMs: number,
  retryTimes: Needs<"retryTimes">["retryTimes"],
) {
  const message = {
    type: "report",
    rule: name,
    severity: "info",
    group: {},
    summary,
    runbookUrl: null,
    createdAtMs: nowMs,
    causedAtMs: nowMs,
    incidents: [],
    truncated,
    report,
  } as const;
  return receivers.map((receiver) => ({
    notification: {
      ...message,
      id: notificationId(JSON.stringify(["report", receiver, name, sending])),
      receiver,
    },
    itemSeqs: [],
    groupNames: [],
    ...retryTimes(receiver),
  }));
}

/** A message has no more of them. */
const mostRows = 100;
const rowsAtOnce = 10_000;

/** @param atMs the moment as of which the range is */
async function readMessage(
  api: CallApi<HistoryContext>,
  report: ScheduledReport,
  atMs: number,
): Promise<ReportMessage> {
  const zone = openZone(report.timeZone) ?? utc;
  const range = readTimeRange({ from: report.range }, { nowMs: atMs, zone });
  if (isRangeFault(range)) throw new RangeError(range.allowed);
  const { regions, keys, by } = report;
  const request = {
    from: timeText(range.fromMs),
    to: timeText(range.toMs),
    tz: zone.name,
    by: by.join(","),
    ...(regions && { region: regions.join(",") }),
    ...(keys && { key: keys.join(",") }),
  };
  const whole = await api(reportOccupancy, { ...request, by: "" });
  const [total = null] = whole.rows;
  let rows: readonly RowView[] = [];
  let count = 0;
  for (let cursor: string | null | undefined; by.length > 0 && cursor !== null;) {
    const asked = { ...request, limit: rowsAtOnce, ...(cursor !== undefined && { cursor }) };
    const page = await api(reportOccupancy, asked);
    count += page.rows.length;
    rows = [...rows, ...page.rows].toSorted(mostOccupiedFirst).slice(0, mostRows);
    cursor = page.next;
  }
  const { notes } = whole;
  return {
    request,
    notes,
    total,
    rows,
    lines: [...notes.map((note) => `Note: ${note}`), ...rows.map(reportLine)],
    summary: reportSummary(report.name, whole, zone, total),
    truncated: count - rows.length,
  };
}

function mostOccupiedFirst(one: RowView, other: RowView): number {
  return (
    (other.occupied_share ?? -1) - (one.occupied_share ?? -1) ||
    (other.error_share ?? -1) - (one.error_share ?? -1)
  );
}
