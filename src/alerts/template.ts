import type { OutboxItem, NotifiedIncident } from "./notification.ts";
import { isBlank, longestName, readable } from "../fleet/readable.ts";

/** Placeholders for what incidents say, each for itself. */
export const incidentPlaceholders = [
  "region",
  "key",
  "sandbox_id",
  "server_id",
  "server_name",
  "probe",
  "status",
  "previous_status",
] as const;
export type IncidentPlaceholder = (typeof incidentPlaceholders)[number];

/** What a rule's `summary` and `runbook_url` can hold in braces. */
export const placeholders = [
  "count",
  "rule",
  "severity",
  "condition",
  ...incidentPlaceholders,
] as const;
export type Placeholder = (typeof placeholders)[number];

const placeholderPattern = /\{([^{}]*)\}/g;

/** A text names this many different values, and counts the others. */
const mostNamed = 3;

/** Receivers refuse a message for an address that is too long. */
const longestInAddress = 100;

/** What stands in braces in a template, in its order. */
export function placeholdersIn(template: string): string[] {
  return Array.from(template.matchAll(placeholderPattern), ([, name = ""]) => name);
}

/**
 * Fills a template with what items say, one for each incident. Where they differ, the first few
 * values are named and the others counted: "github, slack, jira and 4 more".
 */
export function fillTemplate(template: string, items: readonly OutboxItem[]): string {
  return replacePlaceholders(template, placeholders, (name) =>
    name === "count" ? String(items.length) : someOf(items.map((item) => valueOf(name, item))),
  );
}

/** The same for an address, where each value is cut and escaped, and only the first can stand. */
export function fillUrlTemplate(template: string, items: readonly OutboxItem[]): string {
  const [first] = items;
  return replacePlaceholders(template, placeholders, (name) => {
    if (name === "count") return String(items.length);
    const value = first === undefined ? "" : valueOf(name, first);
    return encodeURIComponent(value.slice(0, longestInAddress).toWellFormed());
  });
}

/** Puts values in the place of those placeholders that are known, and leaves the rest. */
export function replacePlaceholders<const Name extends string>(
  template: string,
  known: readonly Name[],
  fill: (name: Name) => string,
): string {
  return template.replaceAll(placeholderPattern, (whole, text: string) => {
    const name = known.find((each) => each === text);
    return name === undefined ? whole : fill(name);
  });
}

/**
 * The first few different values, and how many others there are.
 *
 * @param values in their order, each as often as it comes
 */
export function someOf(values: readonly string[]): string {
  const different = [...new Set(values)];
  const more = different.length - mostNamed;
  const named = different
    .slice(0, mostNamed)
    .map((value) => readable(value, longestName))
    .join(", ");
  return more > 0 ? `${named} and ${more} more` : named;
}

function valueOf(name: Exclude<Placeholder, "count">, item: OutboxItem): string {
  switch (name) {
    case "rule":
      return item.rule;
    case "severity":
      return item.severity;
    case "condition":
      return item.condition;
    default:
      return valueOfIncident(name, item.incident);
  }
}

/** Empty where the incident says nothing of the kind. A server without a name is known by its id. */
export function valueOfIncident(name: IncidentPlaceholder, incident: NotifiedIncident): string {
  switch (name) {
    case "region":
      return incident.region ?? "";
    case "key":
      return incident.key ?? "";
    case "sandbox_id":
      return incident.sandboxId ?? "";
    case "server_id":
      return incident.serverId ?? "";
    case "server_name":
      return isBlank(incident.serverName) ? (incident.serverId ?? "") : (incident.serverName ?? "");
    case "probe":
      return incident.probe ?? "";
    case "status":
      return incident.status ?? "";
    case "previous_status":
      return incident.previousStatus ?? "";
  }
}
