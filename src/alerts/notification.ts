import { formatDuration } from "../fleet/text.ts";
import type { Presence } from "../fleet/model.ts";
import { countText } from "../fleet/text.ts";
import { isBlank } from "../fleet/text.ts";
import type { Severity, TargetTrouble } from "./rule.ts";
import { noSubjectFacts, type SubjectFacts, type SubjectKind } from "./subjects.ts";

export const incidentMessages = [
  "incident.firing",
  "incident.reminder",
  "incident.acknowledged",
  "incident.unacknowledged",
  "incident.resolved",
] as const;
export type IncidentMessage = (typeof incidentMessages)[number];
export type NotificationType = IncidentMessage | "report" | "test";

export const resolvedReasons = ["recovered", "gone", "silenced", "rule_removed"] as const;
export type ResolvedReason = (typeof resolvedReasons)[number];

/** One incident as it was when the receiver was notified. Times are UTC milliseconds. */
export interface NotifiedIncident extends SubjectFacts {
  readonly id: string;
  readonly state: "firing" | "resolved";
  readonly subject: SubjectKind;
  /** Null for an incident of anything but a target. */
  readonly trouble: TargetTrouble | null;
  /** Null, like the next, for an incident of anything but a server. */
  readonly status: Presence | null;
  /** `absent` when the server was first observed like this. */
  readonly previousStatus: Presence | null;
  readonly startedAtMs: number;
  readonly resolvedAtMs: number | null;
  readonly resolvedReason: ResolvedReason | null;
  /** Whether it enters and leaves its condition so often that single changes are not notified. */
  readonly flapping: boolean;
  readonly acknowledgedBy: string | null;
  /** Of its key, as they are configured when the message is sent. Default: none. */
  readonly labels?: Labels;
}

/** The labels of a key, by name. */
export type Labels = Readonly<Record<string, string>>;
export type LabelsOf = (key: string | null) => Labels;

/** The labels of what is about a key, or about several. */
export function keyLabels({
  keys,
  alerts,
}: {
  readonly keys: readonly { readonly name: string; readonly labels: Iterable<[string, string]> }[];
  readonly alerts: { readonly labels: Iterable<[string, string]> };
}): LabelsOf {
  const ofKeys = new Map(keys.map(({ name, labels }) => [name, Object.fromEntries(labels)]));
  const ofAll: Labels = Object.fromEntries(alerts.labels);
  return (key) => (key === null ? ofAll : (ofKeys.get(key) ?? ofAll));
}

/** A notification whose incidents have the labels of their keys. */
export function withLabels(notification: Notification, labelsOf: LabelsOf): Notification {
  const { incidents } = notification;
  return {
    ...notification,
    incidents: incidents.map((incident) => {
      const labels = labelsOf(incident.key);
      return Object.keys(labels).length === 0 ? incident : { ...incident, labels };
    }),
  };
}

/** Details of an incident of which nothing else is known. */
export const noIncidentDetails = {
  ...noSubjectFacts,
  trouble: null,
  status: null,
  previousStatus: null,
  resolvedAtMs: null,
  resolvedReason: null,
  flapping: false,
  acknowledgedBy: null,
} as const;

/** How many servers have which name, the most frequent first. Null: they have none, or one of further names. */
export type ServerNames = readonly (readonly [name: string | null, count: number])[];

/** Further names are only counted. */
const mostServerNames = 20;

export function namesOfServers(
  servers: readonly { readonly name: string | null }[],
): ServerNames | null {
  const counts = Array.from(
    Map.groupBy(servers, ({ name }) => (isBlank(name) ? null : name)),
    ([name, { length }]) => [name, length] as const,
  ).toSorted((one, other) => other[1] - one[1]);
  const named = counts.filter(([name]) => name !== null).slice(0, mostServerNames);
  const others = servers.length - named.reduce((sum, [, count]) => sum + count, 0);
  if (servers.length === 0) return null;
  return others === 0 ? named : [...named, [null, others]];
}

/**
 * One change of an incident for one receiver. Items are stored in the transaction of the change; later those of one group
 * are composed into a notification.
 */
export interface OutboxItem {
  readonly receiver: string;
  readonly type: IncidentMessage;
  readonly rule: string;
  readonly severity: Severity;
  /** Such as "in error" or "down". */
  readonly condition: string;
  /** Such as "HTTP 503, 3 polls in a row"; null: there is nothing more to say of the condition. */
  readonly detail: string | null;
  /** How many servers cannot be observed because of it; null: it does not matter to servers. */
  readonly unmonitored: number | null;
  /** Of a sandbox: its servers; null: it has none, or it is no sandbox. */
  readonly servers: ServerNames | null;
  /** The rule's templates, filled when the message is composed; null: the rule has none. */
  readonly summaryTemplate: string | null;
  readonly runbookUrlTemplate: string | null;
  readonly incident: NotifiedIncident;
  /** When the poll that observed the cause ended. UTC milliseconds. */
  readonly causedAtMs: number;
  /** Since when its target had not been observed then: what happened may have happened since. Default: it was observed. */
  readonly unobservedSinceMs?: number | null;
  /** Who acknowledged the incident, withdrew that or silenced it, and until when; null: until further notice. Default: nobody. */
  readonly action?: { readonly by: string; readonly untilMs: number | null } | null;
  /** How many of its target had the rule's status when it was observed. Default: that does not matter to it. */
  readonly share?: Share | null;
  /** After how long without an acknowledgement the receiver is notified. Default: it is notified at once. */
  readonly escalatedAfterMs?: number;
  /** Of a reminder: its incident flapped until now. Default: it did not. */
  readonly hasSettled?: true;
}

/** How many of the servers or sandboxes of a target that a rule concerns have its status. */
export interface Share {
  readonly count: number;
  readonly total: number;
  /** UTC milliseconds. */
  readonly atMs: number;
}

/** What a message says of an item besides the incident itself. */
export type ItemText = Pick<
  OutboxItem,
  | "condition"
  | "detail"
  | "unmonitored"
  | "servers"
  | "summaryTemplate"
  | "runbookUrlTemplate"
  | "unobservedSinceMs"
  | "action"
  | "share"
  | "escalatedAfterMs"
  | "hasSettled"
>;

/** The text of an item of which nothing else is known. */
export const plainText = {
  detail: null,
  unmonitored: null,
  servers: null,
  summaryTemplate: null,
  runbookUrlTemplate: null,
} as const;

/** An outbox item as the store keeps it. `seq` grows with every item: the order of notification. */
export interface StoredOutboxItem extends OutboxItem {
  readonly seq: number;
}

/** A composed notification that is about to be stored. Milliseconds of the delivery clock. */
export interface NewNotification {
  readonly notification: Notification;
  readonly itemSeqs: readonly number[];
  readonly groupNames: readonly string[];
  readonly nextAttemptAtMs: number;
  /** An attempt that fails from then on is the last. */
  readonly giveUpAtMs: number;
}

/** Figures of a report, under the names that documents use. */
export type ReportFigures = Readonly<Record<string, unknown>>;

/** A report of occupancy, as far as messages show it. */
export interface NotifiedReport {
  /** What the page of the report and the API are asked for it. */
  readonly request: {
    readonly from: string;
    readonly to: string;
    readonly tz: string;
    readonly by: string;
    readonly region?: string;
    readonly key?: string;
  };
  readonly notes: readonly string[];
  /** Null: no target matches. */
  readonly total: ReportFigures | null;
  /** The most occupied ones, those first; `truncated` of the notification says how many more there are. */
  readonly rows: readonly ReportFigures[];
  /** The notes and the rows as lines for a person. */
  readonly lines: readonly string[];
}

/** One message to one receiver. Times are UTC milliseconds. */
export interface Notification {
  /** Derived from the contents, so that it is the same after a crash. */
  readonly id: string;
  readonly receiver: string;
  readonly type: NotificationType;
  /** Of a report: its name. */
  readonly rule: string;
  readonly severity: Severity;
  /** The values of the receiver's `group_by` fields, without `rule`. */
  readonly group: Readonly<Record<string, string>>;
  /** One line for a person: "2 servers in error in us/research since 13:22 UTC". */
  readonly summary: string;
  readonly runbookUrl: string | null;
  readonly createdAtMs: number;
  readonly causedAtMs: number;
  /** At most the receiver's limit; `truncated` says how many more there were. */
  readonly incidents: readonly NotifiedIncident[];
  readonly truncated: number;
  /** Of a resolve: how many other incidents of the rule and group fired when it was composed, or `mostCounted`. Default: 0. */
  readonly stillFiring?: number;
  /** Of a message of type `report`, which has no incidents. */
  readonly report?: NotifiedReport;
}

/** Counting this many firing incidents takes about ten milliseconds, in which nothing else runs. */
export const mostCounted = 10_000;

/** What a receiver may group its messages by; a message never mixes rules or types. */
export const groupFields = [
  "rule",
  "region",
  "key",
  "sandbox_id",
  "server_name",
  "probe",
  "incident",
] as const;
export type GroupField = (typeof groupFields)[number];

/** Whether it goes on, though receivers are not notified of it any more. */
export function isSilenced({ resolvedReason }: NotifiedIncident): boolean {
  return resolvedReason === "silenced";
}

/** Whether the incident ended although the end of its condition was not observed: a message must not claim that. */
export function endedUnobserved({ resolvedReason }: NotifiedIncident): boolean {
  return resolvedReason === "silenced" || resolvedReason === "rule_removed";
}

const minuteMs = 60_000;

/** A message whose cause is older than this must not read as if it had just happened. */
const lateAfterMs = 5 * minuteMs;

/** The age of a message's cause when it is sent, in milliseconds; null: it is not late. */
export function latenessMs({ causedAtMs }: Pick<Notification, "causedAtMs">, nowMs: number) {
  const ageMs = nowMs - causedAtMs;
  return ageMs > lateAfterMs ? ageMs : null;
}

/** The summary as it is shown when the message is sent: "Late by 2h5m: Resolved: 1 server in error in us; 2 still firing". */
export function summaryAt(
  notification: Pick<Notification, "causedAtMs" | "summary" | "stillFiring">,
  nowMs: number,
): string {
  const { summary, stillFiring = 0 } = notification;
  const count =
    stillFiring === mostCounted ? `at least ${countText(stillFiring)}` : countText(stillFiring);
  const whole = stillFiring === 0 ? summary : `${summary}; ${count} still firing`;
  const lateMs = latenessMs(notification, nowMs);
  if (lateMs === null) return whole;
  const minutes = Math.round(lateMs / minuteMs);
  return `Late by ${formatDuration(minutes * minuteMs)}: ${whole}`;
}
