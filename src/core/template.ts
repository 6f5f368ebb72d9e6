import type { OutboxItem } from "./notification.ts";
import { longestName, readable } from "./readable.ts";

/** What a rule's `summary` and `runbook_url` can hold in braces. */
export const placeholders = [
  "count",
  "rule",
  "severity",
  "condition",
  "region",
  "key",
  "sandbox_id",
  "server_id",
  "server_name",
  "status",
  "previous_status",
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
  return replacePlaceholders(template, (name) => {
    if (name === "count") return String(items.length);
    const values = distinctValues(name, items);
    const more = values.length - mostNamed;
    const named = values
      .slice(0, mostNamed)
      .map((value) => readable(value, longestName))
      .join(", ");
    return more > 0 ? `${named} and ${more} more` : named;
  });
}

/** The same for an address, where each value is cut and escaped, and only the first can stand. */
export function fillUrlTemplate(template: string, items: readonly OutboxItem[]): string {
  return replacePlaceholders(template, (name) =>
    name === "count"
      ? String(items.length)
      : encodeURIComponent(
          distinctValues(name, items)[0]?.slice(0, longestInAddress).toWellFormed() ?? "",
        ),
  );
}

function replacePlaceholders(template: string, fill: (name: Placeholder) => string): string {
  return template.replaceAll(placeholderPattern, (whole, name: string) => {
    const known = placeholders.find((each) => each === name);
    return known === undefined ? whole : fill(known);
  });
}

function distinctValues(
  name: Exclude<Placeholder, "count">,
  items: readonly OutboxItem[],
): readonly string[] {
  return [...new Set(items.map((item) => valueOf(name, item)))];
}

function valueOf(name: Exclude<Placeholder, "count">, item: OutboxItem): string {
  const { incident } = item;
  switch (name) {
    case "rule":
      return item.rule;
    case "severity":
      return item.severity;
    case "condition":
      return item.condition;
    case "region":
      return incident.region ?? "";
    case "key":
      return incident.key ?? "";
    case "sandbox_id":
      return incident.sandboxId ?? "";
    case "server_id":
      return incident.serverId ?? "";
    case "server_name":
      return incident.serverName ?? "";
    case "status":
      return incident.status ?? "";
    case "previous_status":
      return incident.previousStatus ?? "";
  }
}
