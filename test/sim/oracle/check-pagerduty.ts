import { longestWaitMs, type ExtraReceiver } from "../draw/receivers.ts";
import { refusedRule } from "../draw/rules.ts";
import type { Page } from "../history.ts";
import { lastNotifiableMs, receiverRule, timesOf } from "./evidence.ts";
import { violation, type Evidence, type NotifiedIncident, type Violation } from "./evidence.ts";
import { inhibitedUntilMs } from "./inhibition.ts";
import { notifiesEnd } from "./routes.ts";

/** An event states what fired when it was sent: within this time its request has arrived. */
const sendingMs = 60_000;

/**
 * The incidents of a rule in one region and key, of targets in one region, are one alert. It is opened while one of them
 * fires, and is open at the end if one of them fires then.
 */
export function checkPagerduty(evidence: Evidence): readonly Violation[] {
  const { pagerduty } = evidence.scenario;
  if (pagerduty === null) return [];
  const taken = evidence.pages.filter((page) => page.taken);
  return [
    ...checkKeys(taken),
    ...checkTriggers(evidence, taken),
    ...checkEnd(evidence, pagerduty, taken),
  ];
}

function alertOf({ event }: Page): string {
  const { rule, subject, region, key } = event.payload.custom_details;
  return alertText(rule, subject, region, key);
}

/** A key that is refused is one alert, whatever the region. */
function alertText(
  rule = "",
  subject = "",
  region: string | null = null,
  key: string | null = null,
): string {
  if (rule === refusedRule) return `${rule} of ${key}`;
  return `${rule} of ${region}/${subject === "target" ? "*" : key}`;
}

function checkKeys(taken: readonly Page[]): readonly Violation[] {
  const alerts = Map.groupBy(taken, alertOf);
  const keys = Map.groupBy(taken, ({ event }) => event.dedup_key);
  return [
    ...Array.from(
      alerts,
      ([alert, pages]) => [alert, pages, (page: Page) => page.event.dedup_key] as const,
    ),
    ...Array.from(keys, ([key, pages]) => [key, pages, alertOf] as const),
  ]
    .filter(([, pages, of]) => new Set(pages.map(of)).size > 1)
    .map(([what]) => violation(`the events of ${what} are not of one alert at PagerDuty`, what));
}

/** By the id before each line of an event. */
function idsOf({ event }: Page): ReadonlySet<string> {
  const { incidents } = event.payload.custom_details;
  return new Set(incidents.map((line) => line.slice(0, line.indexOf(":"))));
}

function checkTriggers(evidence: Evidence, taken: readonly Page[]): readonly Violation[] {
  const incidents = new Map(evidence.incidents.map((each) => [each.id, each]));
  return taken
    .filter(({ event }) => event.event_action === "trigger")
    .flatMap((page) => {
      const over = [...idsOf(page)].filter((id) => {
        const endUtcMs = incidents.get(id)?.resolved?.utcMs;
        if (endUtcMs === undefined) return false;
        const endMs = timesOf(evidence, endUtcMs).at(-1) ?? Infinity;
        return endMs + sendingMs < page.atMs;
      });
      return over.map((id) =>
        violation(`PagerDuty was sent at ${page.atMs} ms that ${id} fires, after its end`, id),
      );
    });
}

function checkEnd(
  evidence: Evidence,
  { name, rules }: ExtraReceiver,
  taken: readonly Page[],
): readonly Violation[] {
  const { scenario, endMs } = evidence;
  const open = new Set<string>();
  for (const page of taken) {
    if (page.event.event_action === "trigger") open.add(alertOf(page));
    if (page.event.event_action === "resolve") open.delete(alertOf(page));
  }
  const isDue = ({ rule, receiver }: NotifiedIncident): boolean =>
    rule === receiverRule ? receiver !== name : rules.includes(rule);
  const due = evidence.incidents.filter(isDue);
  const others = scenario.receivers.map((each) => each.name);
  const fires = ({ id, rule, receiver, resolved, notifiedMs }: NotifiedIncident): boolean => {
    const notified = scenario.rules.find((each) => each.name === rule) ?? {
      receivers: others.filter((each) => each !== receiver),
    };
    return (
      resolved === null &&
      notifiedMs < lastNotifiableMs(evidence) &&
      notifiesEnd(evidence, notified, id)
    );
  };
  const mayFire = ({ resolved }: NotifiedIncident): boolean =>
    resolved === null ||
    (timesOf(evidence, resolved.utcMs).at(-1) ?? Infinity) > endMs - longestWaitMs;
  const textOf = (incident: NotifiedIncident): string => {
    const { rule, region, key, server, pool, probe } = incident;
    const isTarget =
      rule !== receiverRule && key !== null && [server, pool, probe].every((each) => each === null);
    return alertText(rule, isTarget ? "target" : "", region, key);
  };
  const missing = due.filter(
    (incident) =>
      inhibitedUntilMs(evidence, incident.id, name) !== null &&
      fires(incident) &&
      !open.has(textOf(incident)),
  );
  // Where another incident keeps one from all receivers whose messages are judged, only the store has it.
  const elsewhere = Array.from(evidence.storedIncidents.values(), (versions) => versions.at(-1))
    .filter((last) => last !== undefined && last.receivers.includes(name))
    .filter((last) => last?.phase === "firing" || (last?.atMs ?? 0) > endMs - longestWaitMs)
    .map((last) => {
      const { rule = "", region = null, target = null, server = null } = last ?? {};
      const subject = target !== null && server === null ? "target" : "";
      return alertText(rule, subject, region, target?.split("/")[1] ?? null);
    });
  const lingering = open.difference(new Set([...due.filter(mayFire).map(textOf), ...elsewhere]));
  return [
    ...missing.map((incident) =>
      violation(
        `${incident.id} fires at the end, but ${textOf(incident)} is not open at PagerDuty`,
        incident.id,
      ),
    ),
    ...Array.from(lingering, (alert) =>
      violation(`${alert} is still open at PagerDuty, though nothing of it fires`, alert),
    ),
  ];
}
