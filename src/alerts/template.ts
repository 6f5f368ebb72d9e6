import { someOf } from "../fleet/text.ts";
import type { NotifiedIncident, OutboxItem } from "./notification.ts";
import { nameOrId } from "./subjects.ts";

/** What an incident says, by placeholder. A server without a name is known by its id. */
export const incidentValues = {
  region: ({ region }) => region,
  key: ({ key }) => key,
  sandbox_id: ({ sandboxId }) => sandboxId,
  server_id: ({ serverId }) => serverId,
  server_name: nameOrId,
  benchmark: ({ benchmark }) => benchmark,
  probe: ({ probe }) => probe,
  status: ({ status }) => status,
  previous_status: ({ previousStatus }) => previousStatus,
} as const satisfies Readonly<Record<string, (incident: NotifiedIncident) => string | null>>;

/** Empty where the incident has no such thing. */
const itemValues: ReadonlyMap<string, (item: OutboxItem) => string> = new Map([
  ["rule", ({ rule }) => rule],
  ["severity", ({ severity }) => severity],
  ["condition", ({ condition, detail }) => (detail ? `${condition} (${detail})` : condition)],
  ...Object.entries(incidentValues).map(
    ([name, valueOf]) => [name, ({ incident }: OutboxItem) => valueOf(incident) ?? ""] as const,
  ),
]);

/** What a rule's `summary` and `runbook_url` can contain in braces. */
export const placeholders: readonly string[] = ["count", ...itemValues.keys()];

/** What a receiver's own `body` can refer to. */
export const bodyVariables = [
  "type",
  "id",
  "summary",
  "url",
  "runbook_url",
  "count",
  "rule",
  "severity",
  "region",
  "key",
  "sandbox_id",
  "server_id",
  "server_name",
  "benchmark",
  "probe",
  "status",
  "previous_status",
  "incidents",
  "truncated",
  "still_firing",
  "report",
  "labels",
] as const;
export type BodyVariable = (typeof bodyVariables)[number];

/** The fields of each of its `incidents`. */
export const incidentVariables = [
  "id",
  "state",
  "subject",
  "region",
  "key",
  "sandbox_id",
  "server_id",
  "server_name",
  "benchmark",
  "probe",
  "receiver",
  "status",
  "previous_status",
  "started_at",
  "resolved_at",
  "resolved_reason",
  "flapping",
  "acknowledged_by",
  "url",
  "labels",
] as const;
export type IncidentVariable = (typeof incidentVariables)[number];

const placeholderPattern = /\{([^{}]*)\}/g;

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

export type Json =
  | string
  | number
  | boolean
  | null
  | readonly Json[]
  | { readonly [name: string]: Json };
