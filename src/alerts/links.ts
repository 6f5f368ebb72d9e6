import type { Notification, NotifiedIncident } from "./notification.ts";
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
