import type { Notification, NotifiedIncident } from "./notification.ts";
import type { TargetTrouble } from "./rule.ts";
import { kindOf, type SubjectFacts, type SubjectKind } from "./subjects.ts";

type Linked = Pick<Notification, "type" | "rule" | "group" | "incidents" | "truncated" | "report">;

/** @param externalUrl the address of sandwatch, without a slash at its end */
export function incidentUrl(externalUrl: string, id: string): string {
  return `${externalUrl}/incidents/${id}`;
}

/** The page that shows what a message is about: an incident, those of its rule, region and key, or a report. */
export function messageUrl(externalUrl: string, notification: Linked): string {
  const { report } = notification;
  if (report) return `${externalUrl}/report?${queryOf(report.request)}`;
  return notification.type === "test" ? `${externalUrl}/` : pageUrl(externalUrl, notification);
}

/** What the shipped runbooks are about. A default rule and its runbook have one name. */
export const runbookNames = [
  "server-error",
  "sandbox-error",
  "key-refused",
  "target-down",
  "target-partial",
  "region-down",
  "pool",
  "probe",
  "receiver-failing",
] as const;
export type RunbookName = (typeof runbookNames)[number];

const runbooksOfTarget = {
  auth: "key-refused",
  failing: "target-down",
  partial: "target-partial",
} as const;

type Judged = Pick<NotifiedIncident, "subject" | "trouble"> & {
  readonly status: string | null;
  readonly resolvedReason: string | null;
};

/** The shipped runbook for an incident that goes on, whatever its rule is called; null: there is none. */
export function runbookOf({ subject, trouble, status, resolvedReason }: Judged) {
  const isOver = resolvedReason !== null && resolvedReason !== "silenced";
  return isOver ? null : nameOfRunbook(subject, trouble, status);
}

function nameOfRunbook(
  subject: SubjectKind,
  trouble: TargetTrouble | null,
  status: string | null,
): RunbookName | null {
  switch (subject) {
    case "server":
    case "sandbox":
      return status === "error" ? `${subject}-error` : null;
    case "target":
      return trouble && runbooksOfTarget[trouble];
    case "region":
      return "region-down";
    case "pool":
    case "sandbox_pool":
      return "pool";
    case "probe":
      return "probe";
    case "receiver":
      return "receiver-failing";
  }
}

/** The rule's own runbook, or the page of the shipped one; null: there is none. */
export function runbookUrl(
  own: string | null,
  incident: Judged | undefined,
  externalUrl: string | null,
): string | null {
  if (own !== null) return own;
  const name = incident && runbookOf(incident);
  return name && externalUrl !== null ? `${externalUrl}/runbooks/${name}` : null;
}

interface Link {
  readonly text: string;
  readonly url: string;
}

/** The page of what an incident is about, relative to the overview; null: it has none. Ids of the service may hold anything. */
export function subjectLink(
  subject: SubjectKind,
  { region, key, sandboxId: sandbox, serverId: server }: SubjectFacts,
): Link | null {
  const { page } = kindOf(subject);
  if (!page) return null;
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ region, key, sandbox, server })) {
    if (value !== null) query.set(name, value);
  }
  return { text: page.text, url: `${page.path}?${query.toString()}` };
}

/** That page, and those on which the reader can act. A test or a report has nothing to act on. */
export function messageLinks(externalUrl: string, notification: Linked): readonly Link[] {
  const { type, incidents } = notification;
  if (type === "test" || type === "report") {
    const text = type === "report" ? "Report" : "sandwatch";
    return [{ text, url: messageUrl(externalUrl, notification) }];
  }
  const link = (text: string, action = "") => {
    return { text, url: pageUrl(externalUrl, notification, action) };
  };
  const isOver = incidents.every(({ state }) => state === "resolved");
  const isAcknowledged = type === "incident.acknowledged";
  return [
    link(isSingle(notification) ? "Incident" : "Incidents"),
    ...(isOver || isAcknowledged ? [] : [link("Acknowledge", "/acknowledge")]),
    ...(isOver ? [] : [link("Silence", "/silence")]),
    ...(isAcknowledged ? [link("Unacknowledge", "/unacknowledge")] : []),
  ];
}

function isSingle({ incidents, truncated }: Linked): boolean {
  return incidents.length === 1 && truncated === 0;
}

function pageUrl(externalUrl: string, notification: Linked, action = ""): string {
  const [first] = notification.incidents;
  if (first && isSingle(notification)) return incidentUrl(externalUrl, first.id) + action;
  const selection = { rule: notification.rule, ...placeOf(notification) };
  return `${externalUrl}/incidents${action}?${queryOf(selection)}`;
}

function queryOf(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join("&");
}

/** Region and key, where they are known to be those of all incidents. */
function placeOf({ group, incidents, truncated }: Linked): Readonly<Record<string, string>> {
  const common = (valueOf: (incident: NotifiedIncident) => string | null): string | null => {
    const [value = null, ...others] = new Set(incidents.map(valueOf));
    return others.length === 0 ? value : null;
  };
  const place =
    truncated > 0
      ? { region: group["region"], key: group["key"] }
      : { region: common(({ region }) => region), key: common(({ key }) => key) };
  return Object.fromEntries(
    Object.entries(place).flatMap(([name, value]) => (value ? [[name, value]] : [])),
  );
}
