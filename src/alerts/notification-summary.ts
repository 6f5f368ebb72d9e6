import { counted } from "../fleet/plural.ts";
import { isBlank, longestName, readable } from "../fleet/readable-text.ts";
import { endedUnobserved, type OutboxItem, type SubjectKind } from "./notification.ts";
import { fillTemplate, placeholdersIn, valueOfIncident } from "./template.ts";

/** A filled template is cut here, so that no receiver refuses the message for it. */
const longestSummary = 500;

/**
 * One line for a person about items that share rule, severity and type, one for each incident: "2 servers in error in us
 * (research)", "us (research) down (timeout)". A rule's own template replaces it, unless that is blank.
 */
export function summarize(items: readonly OutboxItem[]): string {
  const [first] = items;
  if (!first) return "";
  const template = first.summaryTemplate;
  const filled = template === null ? "" : fillTemplate(template, items);
  return template === null || isBlank(filled)
    ? defaultSummary(first, items)
    : readable(`${prefixOf(first, items, template)}${filled}`, longestSummary);
}

function defaultSummary({ type, incident }: OutboxItem, items: readonly OutboxItem[]): string {
  const statement = statements[incident.subject];
  const condition = commonCondition(items);
  switch (type) {
    case "incident.firing":
      return statement(items, condition);
    case "incident.reminder":
      return statement(items, `still ${condition}`);
    case "incident.acknowledged":
      return `${statement(items, condition)} - ${acknowledgement(items)}`;
    case "incident.resolved":
      return isUnobservedEnd(items)
        ? `alert ended for ${statement(items, condition)}`
        : statement(items, endOf(condition));
  }
}

function prefixOf({ type }: OutboxItem, items: readonly OutboxItem[], template: string): string {
  const isSaid = placeholdersIn(template).includes("condition");
  const isFlapping = !isSaid && items.some(({ incident }) => incident.flapping);
  switch (type) {
    case "incident.firing":
      return isFlapping ? "Flapping: " : "";
    case "incident.reminder":
      return isFlapping ? "Flapping: " : "Still: ";
    case "incident.acknowledged":
      return `${acknowledgement(items)}: `;
    case "incident.resolved":
      return isUnobservedEnd(items) ? "Alert ended: " : "Resolved: ";
  }
}

function acknowledgement(items: readonly OutboxItem[]): string {
  const authors = new Set(items.map(({ incident }) => incident.acknowledgedBy ?? "somebody"));
  return `acknowledged by ${readable([...authors].join(", "), longestName)}`;
}

function isUnobservedEnd(items: readonly OutboxItem[]): boolean {
  return items.some(({ incident }) => endedUnobserved(incident));
}

type Statement = (items: readonly OutboxItem[], condition: string) => string;

const statements: Readonly<Record<SubjectKind, Statement>> = {
  server(items, condition) {
    const line = `${counted(items.length, "server")} ${condition} in ${placeOf(items)}`;
    const [only] = items;
    if (items.length !== 1 || !only) return line;
    const name = readable(valueOfIncident("server_name", only.incident), longestName);
    return isBlank(name) ? line : `${line}: ${name}`;
  },
  target: (items, condition) =>
    items.length === 1
      ? `${placeOf(items)} ${condition}`
      : `${counted(items.length, "target")} ${condition} in ${placeOf(items)}`,
  region: (items, condition) => `${items[0]?.incident.region ?? ""}: ${condition}`,
  pool(items, condition) {
    const where = placeOf(items);
    const name = items[0]?.incident.serverName ?? "";
    const servers = isBlank(name) ? "servers" : `servers named ${readable(name, longestName)}`;
    const pool = items.length === 1 ? servers : counted(items.length, "pool");
    return `${pool}${where === "" ? "" : ` in ${where}`} ${condition}`;
  },
  probe(items, condition) {
    const names = [...new Set(items.map(({ incident }) => incident.probe ?? ""))];
    const probes = names.length === 1 ? `probe ${names.join("")}` : counted(names.length, "probe");
    return `${probes} ${condition} in ${placeOf(items)}`;
  },
  receiver(items, condition) {
    const names = new Set(items.map(({ incident }) => incident.receiver ?? ""));
    return `receiver ${[...names].join(", ")} ${condition}`;
  },
};

/** Conditions that cannot be said to be "no longer" so. */
const ends: readonly (readonly [beginning: string, end: string])[] = [
  ["down", "up again"],
  ["not accepting notifications", "accepting notifications again"],
  ["partially listed", "completely listed again"],
];

function endOf(condition: string): string {
  const end = ends.find(([beginning]) => condition.startsWith(beginning));
  return end?.[1] ?? `no longer ${condition}`;
}

/** The condition in words, without its detail in brackets where the items differ in that. */
function commonCondition(items: readonly OutboxItem[]): string {
  const [condition = "", ...others] = new Set(items.map((item) => item.condition));
  return others.length === 0 ? condition : condition.replace(/ \([^)]*\)$/, "");
}

/**
 * Region and key, as far as all incidents share them: "us (research)", "us", "2 regions". Empty for what is in no region.
 */
function placeOf(items: readonly OutboxItem[]): string {
  const regions = [...new Set(items.map(({ incident }) => incident.region))];
  const keys = [...new Set(items.map(({ incident }) => incident.key))];
  const region = regions.length === 1 ? regions[0] : `${regions.length} regions`;
  const key = keys.length === 1 ? keys[0] : null;
  if (region && key) return `${region} (${key})`;
  return region ?? key ?? "";
}
