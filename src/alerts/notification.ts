import type { Status } from "../fleet/model.ts";
import type { Severity } from "./rule.ts";

/** The messages about incidents; `test` is about none. */
export const incidentMessages = [
  "incident.firing",
  "incident.reminder",
  "incident.acknowledged",
  "incident.resolved",
] as const;
export type IncidentMessage = (typeof incidentMessages)[number];
export type NotificationType = IncidentMessage | "test";

/** What an incident can be about. */
export const subjectKinds = ["server", "target", "pool", "probe", "receiver"] as const;
export type SubjectKind = (typeof subjectKinds)[number];

export const resolvedReasons = ["recovered", "gone", "silenced", "rule_removed"] as const;
export type ResolvedReason = (typeof resolvedReasons)[number];

/** One incident as it was when the receiver was notified. Times are UTC milliseconds since 1970. */
export interface NotifiedIncident {
  readonly id: string;
  readonly state: "firing" | "resolved";
  readonly subject: SubjectKind;
  /** Null, like the next and `serverName`, for a pool whose rule is not `by` it, and for a receiver. */
  readonly region: string | null;
  readonly key: string | null;
  /** Null, like the next, for an incident of anything but a server. */
  readonly sandboxId: string | null;
  readonly serverId: string | null;
  readonly serverName: string | null;
  readonly status: Status | "absent" | null;
  /** The status before it; null for a target, `absent` when the server was first seen like this. */
  readonly previousStatus: Status | "absent" | null;
  readonly startedAtMs: number;
  readonly resolvedAtMs: number | null;
  readonly resolvedReason: ResolvedReason | null;
  /** Of an incident of a receiver: which one does not take its notifications. */
  readonly receiver: string | null;
  /** Of an incident of a probe: its name. */
  readonly probe: string | null;
  /** Whether it enters and leaves its condition so often that single changes are not notified. */
  readonly flapping: boolean;
  /** Null: nobody. */
  readonly acknowledgedBy: string | null;
}

type Nullable<Facts> = {
  [Name in keyof Facts]: null extends Facts[Name] ? Name : never;
}[keyof Facts];

/** Of an incident of which nothing else is known. */
export const noIncidentDetails = {
  region: null,
  key: null,
  sandboxId: null,
  serverId: null,
  serverName: null,
  status: null,
  previousStatus: null,
  resolvedAtMs: null,
  resolvedReason: null,
  receiver: null,
  probe: null,
  flapping: false,
  acknowledgedBy: null,
} as const satisfies Pick<NotifiedIncident, Nullable<NotifiedIncident> | "flapping">;

/**
 * One change of an incident for one receiver. Items are stored in the transaction of the change; later those of one group
 * are composed into a notification.
 */
export interface OutboxItem {
  readonly receiver: string;
  readonly type: IncidentMessage;
  readonly rule: string;
  readonly severity: Severity;
  /** The condition as text, such as "in error" or "down (timeout)". */
  readonly condition: string;
  /** The rule's templates, to be filled when the message is composed; null: the rule has none. */
  readonly summaryTemplate: string | null;
  readonly runbookUrlTemplate: string | null;
  readonly incident: NotifiedIncident;
  /** When the poll that observed the cause ended. UTC milliseconds. */
  readonly causedAtMs: number;
}

/** Of an item whose rule has none, or does not exist any more. */
export const noTemplates = {
  summaryTemplate: null,
  runbookUrlTemplate: null,
} as const satisfies Pick<OutboxItem, Nullable<OutboxItem>>;

/** An outbox item as the store keeps it. `seq` grows with every item: the order of notification. */
export interface StoredOutboxItem extends OutboxItem {
  readonly seq: number;
}

/** One message to one receiver. */
export interface Notification {
  /** Derived from the contents, so that it is the same after a crash. */
  readonly id: string;
  readonly receiver: string;
  readonly type: NotificationType;
  readonly rule: string;
  readonly severity: Severity;
  /** The values of the receiver's `group_by` fields, without `rule`. */
  readonly group: Readonly<Record<string, string>>;
  /** One line for a person: "2 servers in error in us (research)". */
  readonly summary: string;
  /** The URL of the runbook; null: the rule has none. */
  readonly runbookUrl: string | null;
  /** When the message was composed. UTC milliseconds. */
  readonly createdAtMs: number;
  /** The earliest cause among the incidents. UTC milliseconds. */
  readonly causedAtMs: number;
  /** At most the receiver's limit; `truncated` says how many more there were. */
  readonly incidents: readonly NotifiedIncident[];
  readonly truncated: number;
}

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
