import type { OutboxItem, ToldIncident } from "./notification.ts";

/** A name comes from the service and can be anything: the summary stays one readable line. */
const longestName = 60;

/**
 * One line for a person about items that share rule, severity and type, one for each incident:
 * "2 servers in error in us (research)", "us (research) cannot be seen (timeout)".
 * Empty when there is nothing to tell.
 */
export function summarize(items: readonly OutboxItem[]): string {
  const [first] = items;
  if (!first) return "";
  const statement = first.incident.subject === "target" ? aboutTargets : aboutServers;
  // An alert that ended without the condition being seen to end must not claim that it did.
  return endedUnseen(items)
    ? `alert ended for ${statement(items, "firing")}`
    : statement(items, step(first));
}

type Step = "firing" | "still" | "resolved";

function step(item: OutboxItem): Step {
  switch (item.type) {
    case "incident.firing":
      return "firing";
    case "incident.reminder":
      return "still";
    case "incident.resolved":
      return "resolved";
  }
}

function endedUnseen(items: readonly OutboxItem[]): boolean {
  return items.some(
    ({ type, incident }) =>
      type === "incident.resolved" &&
      (incident.resolvedReason === "silenced" || incident.resolvedReason === "rule_removed"),
  );
}

function aboutServers(items: readonly OutboxItem[], told: Step): string {
  const condition = commonCondition(items);
  const prefix = { firing: "", still: "still ", resolved: "no longer " }[told];
  const line = `${count(items.length, "server")} ${prefix}${condition} in ${place(items)}`;
  const name = items.length === 1 ? items[0]?.incident.serverName : null;
  return name ? `${line}: ${readable(name)}` : line;
}

function aboutTargets(items: readonly OutboxItem[], told: Step): string {
  const condition = commonCondition(items);
  const predicate = {
    firing: condition,
    still: `still ${condition}`,
    resolved: ended(condition),
  }[told];
  return items.length === 1
    ? `${place(items)} ${predicate}`
    : `${count(items.length, "target")} ${predicate} in ${place(items)}`;
}

function ended(condition: string): string {
  return condition.startsWith("cannot be seen") ? "can be seen again" : `no longer ${condition}`;
}

/** The condition in words, without its detail in brackets where the items differ in that. */
function commonCondition(items: readonly OutboxItem[]): string {
  const [condition = "", ...others] = new Set(items.map((item) => item.condition));
  return others.length === 0 ? condition : condition.replace(/ \([^)]*\)$/, "");
}

/** Region and key, as far as all incidents share them: "us (research)", "us", "2 regions". */
function place(items: readonly OutboxItem[]): string {
  const distinct = (field: (incident: ToldIncident) => string): string[] => [
    ...new Set(items.map((item) => field(item.incident))),
  ];
  const [region = "", ...otherRegions] = distinct((incident) => incident.region);
  const [key = "", ...otherKeys] = distinct((incident) => incident.key);
  const regions = otherRegions.length === 0 ? region : `${otherRegions.length + 1} regions`;
  return otherKeys.length === 0 ? `${regions} (${key})` : regions;
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

function readable(name: string): string {
  const start = name.slice(0, longestName + 1).replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, " ");
  return start.length > longestName ? `${start.slice(0, longestName)}…` : start;
}
