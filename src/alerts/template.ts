import { isBlank, shownName } from "../fleet/readable-text.ts";
import { messageUrl } from "./links.ts";
import { summaryAt } from "./notification.ts";
import type { Notification, NotifiedIncident, OutboxItem } from "./notification.ts";

/** What an incident says, by placeholder. A server without a name is known by its id. */
const incidentValues = new Map(
  Object.entries<(incident: NotifiedIncident) => string | null>({
    region: ({ region }) => region,
    key: ({ key }) => key,
    sandbox_id: ({ sandboxId }) => sandboxId,
    server_id: ({ serverId }) => serverId,
    server_name: ({ serverName, serverId }) => (isBlank(serverName) ? serverId : serverName),
    probe: ({ probe }) => probe,
    status: ({ status }) => status,
    previous_status: ({ previousStatus }) => previousStatus,
  }),
);

/** Empty where the incident has no such thing. */
export function valueOfIncident(placeholder: string, incident: NotifiedIncident): string {
  return incidentValues.get(placeholder)?.(incident) ?? "";
}

const itemValues = new Map<string, (item: OutboxItem) => string>([
  ["rule", ({ rule }) => rule],
  ["severity", ({ severity }) => severity],
  ["condition", ({ condition, detail }) => (detail ? `${condition} (${detail})` : condition)],
]);
for (const name of incidentValues.keys()) {
  itemValues.set(name, ({ incident }) => valueOfIncident(name, incident));
}

/** What a rule's `summary` and `runbook_url` can contain in braces. */
export const placeholders: readonly string[] = ["count", ...itemValues.keys()];

const notificationValues = new Map(
  Object.entries<(notification: Notification, nowMs: number, externalUrl: string | null) => string>(
    {
      type: ({ type }) => type,
      id: ({ id }) => id,
      summary: summaryAt,
      url: (notification, _, externalUrl) =>
        externalUrl === null ? "" : messageUrl(externalUrl, notification),
      runbook_url: ({ runbookUrl }) => runbookUrl ?? "",
      count: ({ incidents, truncated }) => String(incidents.length + truncated),
      rule: ({ rule }) => rule,
      severity: ({ severity }) => severity,
    },
  ),
);

/** What the texts of a receiver's own `body` can contain in braces. */
export const bodyPlaceholders: readonly string[] = [
  ...notificationValues.keys(),
  ...incidentValues.keys(),
];

const placeholderPattern = /\{([^{}]*)\}/g;

/** A text names this many different values, and counts the others. */
export const mostNamed = 3;

/** Receivers refuse a message for an address that is too long. */
const longestInAddress = 100;

export function placeholdersIn(template: string): string[] {
  return Array.from(template.matchAll(placeholderPattern), ([, name = ""]) => name);
}

/** @param valueOf undefined: the placeholder is unknown, and remains */
function fill(template: string, valueOf: (name: string) => string | undefined): string {
  return template.replaceAll(placeholderPattern, (whole, name: string) => valueOf(name) ?? whole);
}

/**
 * Fills a rule's template from items, one for each incident. Where they differ, the first few values are named and the
 * others counted: "github, slack, jira and 4 more".
 */
export function fillTemplate(template: string, items: readonly OutboxItem[]): string {
  return fill(template, (name) => {
    const valueOf = itemValues.get(name);
    return name === "count" ? String(items.length) : valueOf && someOf(items.map(valueOf));
  });
}

/** The same for an address, where each value is cut and escaped, and only the first is used. */
export function fillUrlTemplate(template: string, items: readonly OutboxItem[]): string {
  return fill(template, (name) => {
    if (name === "count") return String(items.length);
    const [first] = items;
    const value = first && itemValues.get(name)?.(first);
    return value && encodeURIComponent(value.slice(0, longestInAddress).toWellFormed());
  });
}

export function someOf(values: readonly string[]): string {
  const different = [...new Set(values)];
  const named = different.slice(0, mostNamed).map((value) => shownName(value));
  const more = different.length - named.length;
  return more > 0 ? `${named.join(", ")} and ${more} more` : named.join(", ");
}

export type Json =
  | string
  | number
  | boolean
  | null
  | readonly Json[]
  | { readonly [name: string]: Json };

export function isBodyText(text: string): boolean {
  return placeholdersIn(text).every((name) => bodyPlaceholders.includes(name));
}

/**
 * Fills the placeholders in all texts of a body, but not in the names of its fields. JSON is made of it afterwards, so
 * nothing in a value can change the body's form.
 */
export function fillBody(
  template: Json,
  notification: Notification,
  nowMs: number,
  externalUrl: string | null = null,
): Json {
  if (typeof template === "string") {
    return fill(template, (name) => {
      const ofIncident = incidentValues.get(name);
      return (
        notificationValues.get(name)?.(notification, nowMs, externalUrl) ??
        (ofIncident && someOf(notification.incidents.map((each) => ofIncident(each) ?? "")))
      );
    });
  }
  if (typeof template !== "object" || template === null) return template;
  const filled = (value: Json): Json => fillBody(value, notification, nowMs, externalUrl);
  if (isList(template)) return template.map(filled);
  return Object.fromEntries(Object.entries(template).map(([name, value]) => [name, filled(value)]));
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}
