import { counted } from "../fleet/plural.ts";
import { mostWeeks, weekMs, type Forecast } from "./forecast.ts";
import { standingOf, type Outlook } from "./outlook.ts";
import { countText, durationText, shareText } from "./quantities.ts";
import { fewestWeeks } from "./trend.ts";

/** An outlook with what it is of, such as the name `git`. */
export interface NamedOutlook {
  readonly name: string;
  readonly outlook: Outlook;
}

const date = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "long", timeZone: "UTC" });

/** A difference of shares. A rise of a share from 50 % to 52 % is 2 points. */
export function pointsText(difference: number): string {
  return `${(Math.abs(difference) * 100).toFixed(1)} points`;
}

/** When a pool runs out of idle servers, in a sentence. */
export function poolAnswer({ name, outlook }: NamedOutlook): string {
  const { servers, headroom, lastNoIdleMs, peakForecast, weeks } = outlook;
  if (weeks.length === 0) return `It is unknown when ${name} runs out: no whole week was observed.`;
  if (!servers) return `${name} has no servers.`;
  const without = `in the last week, none of its ${serversText(servers)} was idle for ${atMost(outlook)}${durationText(lastNoIdleMs / 1_000)}`;
  const free =
    headroom === null || (headroom === 0 && !outlook.isExact)
      ? ""
      : ` (${outlook.isExact ? "" : "at least "}${countText(headroom)} of ${serversText(servers)} free at the last weekly peak)`;
  const course = `its weekly peak ${trendText(outlook, peakForecast)}`;
  switch (standingOf(outlook)) {
    case "full":
      return `${name} is full now: ${without}.`;
    case "perhaps_full":
      return `${name} may be full now: ${without}.`;
    case "runs_out":
      return `${name} runs out around ${dateAt(outlook, peakForecast)}${free}: ${course}.`;
    case "single": {
      const { level } = outlook.averageForecast;
      return `${name} has a single server, which was occupied for ${level === null ? "an unknown part" : shareText(level)} of the last week.`;
    }
    case "unknown":
      return `It is unknown when ${name} runs out${free}: ${lackText(outlook)}.`;
    case "no_date":
      if (peakForecast.reason === "passed_already") {
        return `${name} has no more servers now than were occupied at the last weekly peak: ${course}.`;
      }
      return peakForecast.reason === "too_far"
        ? `${name} does not run out within ${mostWeeks} weeks${free}: ${course}.`
        : `${name} shows no sign of running out${free}: ${course}.`;
  }
}

function atMost({ isExact }: Outlook): string {
  return isExact ? "" : "up to ";
}

function serversText(servers: number | null): string {
  return servers === null ? "its servers" : counted(servers, "server");
}

function dateAt({ weeks }: Outlook, { inWeeks }: Forecast): string {
  return date.format((weeks.at(-1)?.startMs ?? 0) + (1 + (inWeeks ?? 0)) * weekMs);
}

function lackText({ weeks, averageForecast, peakForecast }: Outlook): string {
  if (peakForecast.reason === "passed_already") {
    return "the peaks of its parts add up to all its servers, but need not have been at once";
  }
  if (peakForecast.level === null) {
    const share = weeks.at(-1)?.observedShare ?? 0;
    return `only ${shareText(share)} of the last week was observed`;
  }
  return `${counted(averageForecast.weeks, "whole week")} ${averageForecast.weeks === 1 ? "was" : "were"} observed, and a trend needs ${fewestWeeks}`;
}

/** Such as "rises by 2.0 points a week". */
function trendText(
  { weeks }: Outlook,
  { step, risePerWeek, weeks: count, level }: Forecast,
): string {
  if (step) {
    const startMs = weeks[step.week]?.startMs ?? 0;
    const stepped = `${step.rise > 0 ? "rose" : "fell"} by ${pointsText(step.rise)} around ${date.format(startMs)}`;
    if (risePerWeek !== null) return `${stepped}, and ${movesText(risePerWeek)} since`;
    return step.weeks < fewestWeeks
      ? `${stepped}; that is too recent to see a trend since`
      : `${stepped}; no trend since`;
  }
  if (risePerWeek !== null) return movesText(risePerWeek);
  if (count < fewestWeeks) return `was ${shareText(level)}`;
  return `has no trend over ${counted(count, "week")}`;
}

function movesText(risePerWeek: number): string {
  return `${risePerWeek > 0 ? "rises" : "falls"} by ${pointsText(risePerWeek)} a week`;
}

/** What else there is to know of a pool, in sentences. @param threshold of its average */
export function poolNotes(outlook: Outlook, threshold: number): readonly string[] {
  const { usage, resize, servers, peakForecast, averageForecast, weeks } = outlook;
  const { noIdleMs, observedMs, longestNoIdle: longest, needed } = usage;
  const notes: string[] = [];
  if (servers && averageForecast.level !== null) {
    notes.push(averageText(outlook, averageForecast, threshold));
  }
  if (noIdleMs > 0) {
    const stretch = longest
      ? `, up to ${durationText(longest.ms / 1_000)} at a stretch (${momentText(longest.fromMs)})`
      : "";
    notes.push(
      `In this range no server was idle for ${atMost(outlook)}${durationText(noIdleMs / 1_000)}, ${shareText(noIdleMs / observedMs)} of the observed time${stretch}.`,
    );
  }
  if (needed) {
    notes.push(
      needed.isMore
        ? "In this range more servers than there were would have been needed for 99% of the time."
        : `In this range ${serversText(needed.servers)} would have been enough for 99% of the time.`,
    );
  }
  if (resize) {
    notes.push(
      `The number of servers changed from ${resize.from} to ${resize.to} around ${date.format(resize.atMs)}: shares are of the ${servers} that there are now.`,
    );
  }
  if (peakForecast.unusual) {
    const { week, by } = peakForecast.unusual;
    const isLast = week === weeks.length - 1;
    notes.push(
      `The peak of the week from ${date.format(weeks[week]?.startMs ?? 0)} was ${pointsText(by)} ${by > 0 ? "above" : "below"} the others and is not part of the trend${isLast ? ": a single week is no trend yet" : ""}.`,
    );
  }
  const gaps = weeks.length - peakForecast.weeks;
  if (gaps > 0) {
    notes.push(
      `${counted(gaps, "week")} of the last ${weeks.length} ${gaps === 1 ? "was" : "were"} not observed well enough and ${gaps === 1 ? "is" : "are"} not part of the trend.`,
    );
  }
  return notes;
}

function averageText(outlook: Outlook, average: Forecast, threshold: number): string {
  const level = `Its weekly average was ${shareText(average.level)}`;
  const trend = `${level} and ${trendText(outlook, average)}`;
  const reaches = shareText(threshold);
  switch (average.reason) {
    case "too_little":
      return `${level}.`;
    case "passed_already":
      return `${level}: ${reaches} is reached already.`;
    case "too_far":
      return `${trend}: it does not reach ${reaches} within ${mostWeeks} weeks.`;
    case null:
      return `${trend}: it reaches ${reaches} around ${dateAt(outlook, average)}.`;
    default:
      return `${trend}.`;
  }
}

/** To the minute, in UTC. */
function momentText(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

const namesShown = 3;

/** When the first of some pools runs out, in a sentence. @param pools the most urgent one first */
export function overallAnswer(pools: readonly NamedOutlook[]): string {
  const standing = (wanted: ReturnType<typeof standingOf>) =>
    pools.filter(({ outlook }) => standingOf(outlook) === wanted);
  const [full, dated, perhaps] = [standing("full"), standing("runs_out"), standing("perhaps_full")];
  const [next] = dated;
  const others = pools.length - full.length - standing("single").length;
  if (full.length > 1 || (full.length === 1 && (next ?? others > 0))) {
    const rest = next
      ? `${next.name} runs out next, around ${dateAt(next.outlook, next.outlook.peakForecast)}`
      : `no date is known for the other ${others === 1 ? "pool" : `${others} pools`}`;
    const are = full.length === 1 ? "is" : "are";
    const last = full.length === 1 ? "its servers" : "their servers";
    const end = others === 0 ? "" : `; ${rest}`;
    return `${listText(full)} ${are} full now: in the last week, at times none of ${last} was idle${end}.`;
  }
  const [first] = full.length > 0 ? full : dated;
  if (first) return poolAnswer(first);
  const known = standing("no_date");
  const [tightest] = known;
  if (perhaps.length > 0) {
    return `${listText(perhaps)} may be full now: in the last week, at times none of the servers may have been idle. Ask by region, key and name to know.`;
  }
  if (!tightest) {
    const [any] = pools;
    if (!any) return "There are no servers that can run out.";
    return pools.length === 1 || standingOf(any.outlook) !== "single"
      ? poolAnswer(any)
      : "No pool has more than one server: ask by fewer of region, key and name.";
  }
  if (pools.length === 1) return poolAnswer(tightest);
  const { headroom, servers } = tightest.outlook;
  return `No pool shows a sign of running out within ${mostWeeks} weeks; ${tightest.name} has the least headroom (${countText(headroom)} of ${serversText(servers)} free at the last weekly peak).`;
}

function listText(pools: readonly NamedOutlook[]): string {
  const names = pools.slice(0, namesShown).map(({ name }) => name);
  const more = pools.length - names.length;
  const all = more > 0 ? [...names, `${more} more`] : names;
  return all.length === 1 ? (all[0] ?? "") : `${all.slice(0, -1).join(", ")} and ${all.at(-1)}`;
}
