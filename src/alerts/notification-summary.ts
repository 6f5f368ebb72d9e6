import { counted, countText, formatDuration, isBlank } from "../fleet/text.ts";
import { mostNamed, readable, shownName, someOf } from "../fleet/text.ts";
import { endedUnobserved, isSilenced } from "./notification.ts";
import type { OutboxItem, ServerNames, Share } from "./notification.ts";
import { conditionOfStatus, kindOf, placeText } from "./subjects.ts";
import { fillTemplate, placeholdersIn } from "./template.ts";

/** A filled template is cut here, so that no receiver refuses the message for it. */
const longestSummary = 500;

const minuteMs = 60_000;

/**
 * One line for a person about items that share rule, severity and type, one for each incident: "4 github servers in error in
 * eu/research since 13:22 UTC (2 min)", "Resolved after 12 min: eu/research down". A rule's own template replaces the
 * statement, unless that is blank.
 *
 * @param nowMs UTC milliseconds; null: the summary must stay the same as time passes
 */
export function summarize(items: readonly OutboxItem[], nowMs: number | null): string {
  const [first] = items;
  if (!first) return "";
  const own = ownSummary(first, items);
  const text = own?.text ?? wholeStatement(first, items, nowMs);
  const prefix = prefixOf(first, items, own?.saysCondition ?? true);
  return readable(`${prefix}${text}`, longestSummary);
}

/** What a page says in place of a summary, as it shows times and details beside it. */
export function headlineOf(items: readonly OutboxItem[]): string {
  const [first] = items;
  if (!first) return "";
  const { what, more } = subjectsOf(first, items);
  const text = ownSummary(first, items)?.text ?? `${what}${more === "" ? "" : `: ${more}`}`;
  return readable(text, longestSummary);
}

/** From the rule's own template; null: it has none, or it is blank. */
function ownSummary({ summaryTemplate: template }: OutboxItem, items: readonly OutboxItem[]) {
  if (template === null) return null;
  const text = fillTemplate(template, items);
  if (isBlank(text)) return null;
  return { text, saysCondition: placeholdersIn(template).includes("condition") };
}

/** @param isSaid whether the text says that it flaps */
function prefixOf({ type }: OutboxItem, items: readonly OutboxItem[], isSaid: boolean): string {
  const isFlapping = items.every(({ incident }) => incident.flapping);
  const unsaid = isFlapping && !isSaid ? "Flapping: " : "";
  switch (type) {
    case "incident.firing":
      return escalatedText(items) + unsaid;
    case "incident.reminder":
      if (isFlapping) return unsaid;
      return items.every(({ hasSettled }) => hasSettled)
        ? "No longer flapping, still: "
        : "Still: ";
    case "incident.acknowledged":
      return `Acknowledged by ${authorsOf(items)}${forText(items)}: `;
    case "incident.unacknowledged":
      return `Acknowledgement withdrawn by ${authorsOf(items)}: `;
    case "incident.resolved": {
      if (items.every(isBeingSilenced)) {
        return `Silenced by ${authorsOf(items)}${forText(items)}, still firing: `;
      }
      if (items.every(({ incident }) => isSilenced(incident)))
        return `Silenced${afterText(items)}: `;
      const isUnobserved = items.some(({ incident }) => endedUnobserved(incident));
      return `${isUnobserved ? "Alert ended" : "Resolved"}${afterText(items)}: `;
    }
  }
}

/** "Not acknowledged for 15 min: " where all receivers of the message are notified for that reason. */
function escalatedText(items: readonly OutboxItem[]): string {
  const leastMs = Math.min(...items.map(({ escalatedAfterMs }) => escalatedAfterMs ?? 0));
  const lasted = durationText(leastMs, "s");
  return lasted === null ? "" : `Not acknowledged for ${lasted}: `;
}

function authorsOf(items: readonly OutboxItem[]): string {
  const authors = items.map(({ action, incident }) => action?.by ?? incident.acknowledgedBy);
  return [...new Set(authors)].map((author) => shownName(author ?? "somebody")).join(", ");
}

/** For how long somebody acknowledged or silenced them: " for 4h"; empty: that has no end. */
function forText(items: readonly OutboxItem[]): string {
  const lasting = items.map(({ action, causedAtMs }) =>
    typeof action?.untilMs === "number" ? action.untilMs - causedAtMs : Infinity,
  );
  const longestMs = Math.max(...lasting);
  if (longestMs === Infinity) return "";
  const text = durationText(Math.max(1, Math.round(longestMs / minuteMs)) * minuteMs, "min");
  return ` for ${new Set(lasting).size > 1 ? "up to " : ""}${text}`;
}

/**
 * What ended while nobody observed it ended between two moments: "after 5 s to 5 min". What is gone was missing for a while:
 * "after up to 5 min".
 */
function lastedText({ incident, unobservedSinceMs }: OutboxItem): string | null {
  const { startedAtMs, resolvedAtMs } = incident;
  const most = durationText((resolvedAtMs ?? startedAtMs) - startedAtMs, "s");
  if (incident.resolvedReason === "gone") return most && `up to ${most}`;
  if (typeof unobservedSinceMs !== "number" || most === null) return most;
  const least = durationText(unobservedSinceMs - startedAtMs, "s") ?? "0 s";
  return least === most ? most : `${least} to ${most}`;
}

/** Whether receivers are notified of a silence. Later, nothing says of such an incident whether it still fires. */
function isBeingSilenced({ incident, action }: OutboxItem): boolean {
  return isSilenced(incident) && Boolean(action);
}

function isOverIn(items: readonly OutboxItem[]): boolean {
  return items.every((item) => item.type === "incident.resolved" && !isBeingSilenced(item));
}

function afterText(items: readonly OutboxItem[]): string {
  const lasted = items.map(lastedText);
  const [one = null, ...others] = new Set(lasted);
  if (others.length === 0) return one === null ? "" : ` after ${one}`;
  const longestMs = Math.max(
    ...items.map(({ incident }) => (incident.resolvedAtMs ?? 0) - incident.startedAtMs),
  );
  return ` after up to ${durationText(longestMs, "s")}`;
}

/** Such as "2 min", "2h5m"; null: it is shorter than the unit. */
function durationText(ms: number, unit: "s" | "min"): string | null {
  if (ms < 1_000 || (unit === "min" && ms < minuteMs)) return null;
  if (ms < minuteMs) return `${Math.floor(ms / 1_000)} s`;
  const minutes = Math.floor(ms / minuteMs);
  return minutes < 60 ? `${minutes} min` : formatDuration(minutes * minuteMs);
}

function wholeStatement(
  first: OutboxItem,
  items: readonly OutboxItem[],
  nowMs: number | null,
): string {
  const steady = items.filter(({ incident }) => !incident.flapping);
  const [lasting = first] = steady;
  const { what, more } = subjectsOf(lasting, items);
  const isOver = isOverIn(items);
  const startedAtMs = Math.min(...items.map(({ incident }) => incident.startedAtMs));
  const since = isOver ? "" : ` since ${timeText(startedAtMs, nowMs)}`;
  const notes = [
    isOver || nowMs === null ? null : durationText(nowMs - startedAtMs, "min"),
    isOver ? null : (same(steady.length > 0 ? steady : items, ({ detail }) => detail) ?? null),
    isOver ? null : serversText(items),
  ].filter((note) => note !== null);
  const flaps = items.length - steady.length;
  const share = shareOf(items);
  const unmonitored = items.reduce((sum, item) => sum + (item.unmonitored ?? 0), 0);
  return [
    `${share?.ofAll(what) ?? what}${since}`,
    notes.length === 0 ? "" : ` (${notes.join(", ")})`,
    more === "" ? "" : `: ${more}`,
    flaps === 0 || steady.length === 0 ? "" : `; ${flaps} of them flapping`,
    share === null || share.ofAll(what) !== null ? "" : `; ${share.text}`,
    isOver || unmonitored === 0 ? "" : `; ${counted(unmonitored, "server")} unmonitored`,
  ].join("");
}

/**
 * How many of those that the rule concerns have its status in the targets of the items, such as "45 of 50 servers in error",
 * and the statement about all of these: "40 of 50 servers in error in eu/research". Null: that is
 * not known, is over, or there is only one.
 */
function shareOf(items: readonly OutboxItem[]) {
  const latest = new Map<string, Share>();
  for (const { type, share, incident } of items) {
    if (!share || (type !== "incident.firing" && type !== "incident.reminder")) return null;
    const target = placeText(incident);
    if (share.atMs >= (latest.get(target)?.atMs ?? share.atMs)) latest.set(target, share);
  }
  const [first] = items;
  if (!first) return null;
  const { subject, status } = first.incident;
  const many = (count: number): string =>
    subject === "sandbox" ? counted(count, "sandbox", "sandboxes") : counted(count, "server");
  const count = latest.values().reduce((sum, share) => sum + share.count, 0);
  const total = latest.values().reduce((sum, share) => sum + share.total, 0);
  if (total <= 1) return null;
  const text = `${countText(count)} of ${many(total)}`;
  const own = `${many(items.length)} `;
  return {
    text: `${text} ${conditionOfStatus(status ?? "unknown")}`,
    ofAll: (statement: string) =>
      count === items.length && statement.startsWith(own)
        ? `${text} ${statement.slice(own.length)}`
        : null,
  };
}

/** Such as "2026-11-20 09:30". */
const utcTime = new Intl.DateTimeFormat("sv-SE", {
  timeZone: "UTC",
  dateStyle: "short",
  timeStyle: "short",
});

/** With the date unless that is today's. */
function timeText(utcMs: number, nowMs: number | null): string {
  const [date = "", time = ""] = utcTime.format(utcMs).split(" ");
  const isToday = nowMs !== null && utcTime.format(nowMs).startsWith(date);
  return `${isToday ? "" : `${date} `}${time} UTC`;
}

/** What the items are about and what holds for it, and in what they differ. */
function subjectsOf(
  { incident, condition }: OutboxItem,
  items: readonly OutboxItem[],
): { readonly what: string; readonly more: string } {
  const { statement, listed, isCounted } = kindOf(incident.subject);
  const [first = incident, ...others] = items.map((item) => item.incident);
  const group = {
    all: [first, ...others],
    condition,
    isOver: isOverIn(items),
    where: placeOf(items),
    isOneRegion: same(items, (item) => item.incident.region) !== undefined,
    isOneKey: same(items, (item) => item.incident.key) !== undefined,
  } as const;
  const names = others.length === 0 ? [] : group.all.map((each) => listed?.(each, group) ?? "");
  const isSame = new Set(names).size <= 1;
  const more = isSame
    ? ""
    : isCounted
      ? countedNames(names.map((name) => [name, 1]))
      : someOf(names);
  return { what: statement(group), more };
}

/** The servers of sandboxes, such as "7 servers: 3 github, 2 slack and 2 others"; null: they have none. */
function serversText(items: readonly OutboxItem[]): string | null {
  const counts = items.flatMap(({ servers }) => servers ?? []);
  if (counts.length === 0) return null;
  const all = counts.reduce((sum, [, count]) => sum + count, 0);
  const names = countedNames(counts.map(([name, count]) => [name && shownName(name), count]));
  return names === "" ? counted(all, "server") : `${counted(all, "server")}: ${names}`;
}

/** The most frequent names with their numbers: "120 github, 90 slack and 4 others". */
function countedNames(some: ServerNames): string {
  const totals = new Map<string | null, number>();
  for (const [name, count] of some) totals.set(name, (totals.get(name) ?? 0) + count);
  const others = totals.get(null) ?? 0;
  totals.delete(null);
  const counts = [...totals].toSorted(([, one], [, other]) => other - one);
  const named = counts
    .slice(0, mostNamed)
    .map(([name, count]) => (count === 1 ? name : `${countText(count)} ${name}`));
  const more = counts.slice(mostNamed).reduce((sum, [, count]) => sum + count, others);
  const list = named.join(", ");
  return more > 0 && list !== "" ? `${list} and ${counted(more, "other")}` : list;
}

/** The value that all share; undefined: they differ. */
function same<Value>(
  items: readonly OutboxItem[],
  valueOf: (item: OutboxItem) => Value,
): Value | undefined {
  const [value, ...others] = new Set(items.map(valueOf));
  return others.length === 0 ? value : undefined;
}

/** Region and key, as far as all incidents share them: "us/research", "us", "2 regions". Empty for what is in no region. */
function placeOf(items: readonly OutboxItem[]): string {
  const regions = new Set(items.map(({ incident }) => incident.region));
  const key = same(items, ({ incident }) => incident.key);
  const [region = null] = regions;
  const place = regions.size > 1 ? `${regions.size} regions` : region;
  if (place && key) return regions.size > 1 ? `${place} (${key})` : `${place}/${key}`;
  return place ?? key ?? "";
}
