import { summaryAt } from "./lateness.ts";
import type { Notification } from "./notification.ts";
import { incidentPlaceholders, placeholdersIn, replacePlaceholders } from "./template.ts";
import { someOf, valueOfIncident } from "./template.ts";

/** What the texts of a receiver's own `body` can hold in braces. */
export const bodyPlaceholders = [
  "type",
  "id",
  "summary",
  "runbook_url",
  "count",
  "rule",
  "severity",
  ...incidentPlaceholders,
] as const;
export type BodyPlaceholder = (typeof bodyPlaceholders)[number];

/** A body as it is configured, and as it is sent. */
export type Json =
  | string
  | number
  | boolean
  | null
  | readonly Json[]
  | { readonly [name: string]: Json };

/** Whether every placeholder in the text is known. */
export function isBodyText(text: string): boolean {
  return placeholdersIn(text).every((name) => bodyPlaceholders.some((known) => known === name));
}

/**
 * Fills the placeholders in all texts of a body, but not in the names of its fields. Values are put
 * into texts before any JSON is made of them, so nothing in a value can change the body's form.
 *
 * @param nowMs when the message is sent. UTC milliseconds
 */
export function fillBody(template: Json, notification: Notification, nowMs: number): Json {
  if (typeof template === "string") {
    return replacePlaceholders(template, bodyPlaceholders, (name) =>
      valueOf(name, notification, nowMs),
    );
  }
  if (typeof template !== "object" || template === null) return template;
  if (isList(template)) return template.map((item) => fillBody(item, notification, nowMs));
  return Object.fromEntries(
    Object.entries(template).map(([name, value]) => [name, fillBody(value, notification, nowMs)]),
  );
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

function valueOf(name: BodyPlaceholder, notification: Notification, nowMs: number): string {
  const { incidents, truncated } = notification;
  switch (name) {
    case "type":
    case "id":
    case "rule":
    case "severity":
      return notification[name];
    case "summary":
      return summaryAt(notification, nowMs);
    case "runbook_url":
      return notification.runbookUrl ?? "";
    case "count":
      return String(incidents.length + truncated);
    default:
      return someOf(incidents.map((incident) => valueOfIncident(name, incident)));
  }
}
