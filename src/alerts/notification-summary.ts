import { counted } from "../fleet/counted.ts";
import type { OutboxItem, NotifiedIncident } from "./notification.ts";
import { isBlank, longestName, readable } from "../fleet/readable.ts";
import { fillTemplate, placeholdersIn, valueOfIncident } from "./template.ts";

/** A filled template is cut here, so that no receiver refuses the message for it. */
const longestSummary = 500;

/**
 * One line for a person about items that share rule, severity and type, one for each incident:
 * "2 servers in error in us (research)", "us (research) down (timeout)". A rule's own
 * template takes its place. Empty when there is nothing to tell.
 */
export function summarize(items: readonly OutboxItem[]): string {
  const [first] = items;
  if (!first) return "";
  const template = first.summaryTemplate;
  const filled = template === null ? null : fillTemplate(template, items);
  // A summary that says nothing would leave nobody any the wiser.
  return template === null || filled === null || isBlank(filled)
    ? usualSummary(first, items)
    : readable(`${prefixOf(first, items, template)}${filled}`, longestSummary);
}

function usualSummary(first: OutboxItem, items: readonly OutboxItem[]): string {
  const statement = statements[first.incident.subject];
  // An alert that ended without the condition being seen to end must not claim that it did.
  if (endedUnobserved(items)) return `alert ended for ${statement(items, "firing")}`;
  const text = statement(items, step(first));
  return first.type === "incident.acknowledged" ? `${text} - ${acknowledgement(items)}` : text;
}

/** What a rule's own template does not say. */
function prefixOf(first: OutboxItem, items: readonly OutboxItem[], template: string): string {
  const said = placeholdersIn(template).includes("condition");
  const flapping = !said && items.some(({ incident }) => incident.flapping) ? "Flapping: " : null;
  switch (first.type) {
    case "incident.firing":
      return flapping ?? "";
    case "incident.reminder":
      return flapping ?? "Still: ";
    case "incident.acknowledged":
      return `${acknowledgement(items)}: `;
    case "incident.resolved":
      return endedUnobserved(items) ? "Alert ended: " : "Resolved: ";
  }
}

function acknowledgement(items: readonly OutboxItem[]): string {
  const authors = new Set(items.map(({ incident }) => incident.acknowledgedBy ?? "somebody"));
  return `acknowledged by ${readable([...authors].join(", "), longestName)}`;
}

type Step = "firing" | "still" | "resolved";

function step(item: OutboxItem): Step {
  switch (item.type) {
    case "incident.firing":
    case "incident.acknowledged":
      return "firing";
    case "incident.reminder":
      return "still";
    case "incident.resolved":
      return "resolved";
  }
}

function endedUnobserved(items: readonly OutboxItem[]): boolean {
  return items.some(
    ({ type, incident }) =>
      type === "incident.resolved" &&
      (incident.resolvedReason === "silenced" || incident.resolvedReason === "rule_removed"),
  );
}

const statements = {
  server: aboutServers,
  target: aboutTargets,
  pool: aboutPools,
  probe: aboutProbes,
  receiver: aboutReceivers,
} as const;

const prefixOfStep = { firing: "", still: "still ", resolved: "no longer " } as const;

function aboutServers(items: readonly OutboxItem[], kind: Step): string {
  const condition = commonCondition(items);
  const line = `${counted(items.length, "server")} ${prefixOfStep[kind]}${condition} in ${place(items)}`;
  const [only] = items;
  if (items.length !== 1 || !only) return line;
  const name = readable(valueOfIncident("server_name", only.incident), longestName);
  return isBlank(name) ? line : `${line}: ${name}`;
}

function aboutTargets(items: readonly OutboxItem[], kind: Step): string {
  const predicate = predicateOf(commonCondition(items), kind);
  return items.length === 1
    ? `${place(items)} ${predicate}`
    : `${counted(items.length, "target")} ${predicate} in ${place(items)}`;
}

function aboutPools(items: readonly OutboxItem[], kind: Step): string {
  const predicate = `${prefixOfStep[kind]}${commonCondition(items)}`;
  const where = place(items);
  const name = items.length === 1 ? items[0]?.incident.serverName : null;
  const servers =
    name && !isBlank(name) ? `servers named ${readable(name, longestName)}` : "servers";
  const pool = items.length === 1 ? servers : counted(items.length, "pool");
  return `${pool}${where === "" ? "" : ` in ${where}`} ${predicate}`;
}

function aboutProbes(items: readonly OutboxItem[], kind: Step): string {
  const names = [...new Set(items.map(({ incident }) => incident.probe ?? ""))];
  const probes = names.length === 1 ? `probe ${names.join("")}` : counted(names.length, "probe");
  const predicate = `${prefixOfStep[kind]}${commonCondition(items)}`;
  return `${probes} ${predicate} in ${place(items)}`;
}

function aboutReceivers(items: readonly OutboxItem[], kind: Step): string {
  const names = [...new Set(items.map(({ incident }) => incident.receiver ?? ""))].join(", ");
  return `receiver ${names} ${predicateOf(commonCondition(items), kind)}`;
}

/** Conditions that cannot be said to be "no longer" so. */
const ends: readonly (readonly [beginning: string, end: string])[] = [
  ["down", "up again"],
  ["not accepting notifications", "accepting notifications again"],
  ["refused by the service", "no longer refused by the service"],
  ["partially listed", "completely listed again"],
];

function predicateOf(condition: string, kind: Step): string {
  const end = ends.find(([beginning]) => condition.startsWith(beginning))?.[1];
  return kind === "resolved" && end !== undefined ? end : `${prefixOfStep[kind]}${condition}`;
}

/** The condition in words, without its detail in brackets where the items differ in that. */
function commonCondition(items: readonly OutboxItem[]): string {
  const [condition = "", ...others] = new Set(items.map((item) => item.condition));
  return others.length === 0 ? condition : condition.replace(/ \([^)]*\)$/, "");
}

/**
 * Region and key, as far as all incidents share them: "us (research)", "us", "2 regions". Empty for
 * what lies in no region.
 */
function place(items: readonly OutboxItem[]): string {
  const distinct = (field: (incident: NotifiedIncident) => string | null): (string | null)[] => [
    ...new Set(items.map((item) => field(item.incident))),
  ];
  const [region = null, ...otherRegions] = distinct((incident) => incident.region);
  const [key = null, ...otherKeys] = distinct((incident) => incident.key);
  const regions = otherRegions.length === 0 ? region : `${otherRegions.length + 1} regions`;
  const keys = otherKeys.length === 0 ? key : null;
  if (regions === null) return keys ?? "";
  return keys === null ? regions : `${regions} (${keys})`;
}
