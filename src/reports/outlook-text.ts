import { counted } from "../fleet/text.ts";
import { mostWeeks, weekMs, type Forecast } from "./forecast.ts";
import { standingOf, type Outlook } from "./outlook.ts";
import { countText, durationText, shareText } from "./quantities.ts";
import type { ReportedKind } from "./report-fields.ts";
import { fewestWeeks } from "./trend.ts";

/** An outlook with what it is of, such as the name `git`. */
export interface NamedOutlook {
  readonly name: string;
  readonly outlook: Outlook;
}

const nouns: Readonly<Record<ReportedKind, readonly [string, string]>> = {
  servers: ["server", "servers"],
  sandboxes: ["sandbox", "sandboxes"],
};

const date = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "long", timeZone: "UTC" });

/** A difference of shares. A rise of a share from 50 % to 52 % is 2 percentage points. */
export function pointsText(difference: number): string {
  return `${(Math.abs(difference) * 100).toFixed(1)} percentage points`;
}

/** When a pool runs out of idle servers or sandboxes, in a sentence. */
export function poolAnswer(pool: NamedOutlook, of: ReportedKind): string {
  return sentence(answerOf(pool, of));
}

/** The fleet, and pools without a name, begin with an article. */
function sentence(text: string): string {
  return text.startsWith("the ") ? `T${text.slice(1)}` : text;
}

function answerOf({ name, outlook }: NamedOutlook, of: ReportedKind): string {
  const { servers, headroom, lastNoIdleMs, peakForecast, resize, weeks } = outlook;
  if (weeks.length === 0) return `It is unknown when ${name} runs out: no whole week was observed.`;
  if (!servers) return `${name} has no ${of}.`;
  const size = counted(servers, ...nouns[of]);
  const free =
    headroom === null || (headroom === 0 && !outlook.isExact)
      ? ""
      : ` (${outlook.isExact ? "" : "at least "}${countText(headroom)} of ${size} free at the last weekly peak)`;
  const course = `its weekly peak ${trendText(outlook, peakForecast)}`;
  const noIdle = durationText(lastNoIdleMs / 1_000);
  // Of a pool that was resized in that week, it may have been one of fewer or more.
  const wasResized = resize !== null && resize.atMs === weeks.at(-1)?.startMs;
  const ofIts = wasResized ? `its ${nouns[of][1]}` : `its ${size}`;
  switch (standingOf(outlook)) {
    case "full":
      return `${name} already runs out: for ${noIdle} of the last week none of ${ofIts} was idle.`;
    case "perhaps_full":
      return `${name} may already run out: for up to ${noIdle} of the last week none of ${ofIts} was idle.`;
    case "runs_out":
      return `${name} runs out around ${dateAt(outlook, peakForecast)}${free}: ${course}.`;
    case "single": {
      const { level } = outlook.averageForecast;
      const peak = weeks.at(-1)?.occupiedPeak ?? 0;
      if (peak > 1) {
        return `${name} has a single ${nouns[of][0]} now; in the last week up to ${peak} were occupied at a time.`;
      }
      return `${name} has a single ${nouns[of][0]}, which was occupied for ${level === null ? "an unknown part" : shareText(level)} of the last week.`;
    }
    case "unknown":
      return `It is unknown when ${name} runs out${free}: ${lackText(outlook, of)}.`;
    case "rose_recently":
      return `It is too early to say when ${name} runs out${free}: ${course}.`;
    case "no_date":
      if (peakForecast.reason === "passed_already") {
        return `${name} has ${size} now, no more than were occupied at the last weekly peak: ${course}.`;
      }
      return peakForecast.reason === "too_far"
        ? `${name} does not run out within ${mostWeeks} weeks${free}: ${course}.`
        : `${name} shows no sign of running out${free}: ${course}.`;
  }
}

function dateAt({ weeks }: Outlook, { inWeeks }: Forecast): string {
  return date.format((weeks.at(-1)?.startMs ?? 0) + (1 + (inWeeks ?? 0)) * weekMs);
}

function lackText({ weeks, averageForecast, peakForecast }: Outlook, of: ReportedKind): string {
  if (peakForecast.reason === "passed_already") {
    return `the peaks of its parts add up to all its ${of}, but need not have been at once`;
  }
  if (weeks.at(-1)?.isEmpty) return `it had no ${of} in the last week`;
  if (peakForecast.level === null) {
    const share = weeks.at(-1)?.observedShare ?? 0;
    return `only ${shareText(share)} of the last week was observed`;
  }
  return `${counted(averageForecast.weeks, "whole week")} ${averageForecast.weeks === 1 ? "was" : "were"} observed, and a trend needs ${fewestWeeks}`;
}

/** Such as "rises by 2.0 percentage points a week". */
function trendText(
  { weeks }: Outlook,
  { step, risePerWeek, weeks: count, level }: Forecast,
): string {
  if (step) {
    const startMs = weeks[step.week]?.startMs ?? 0;
    const stepped = `${step.rise > 0 ? "rose" : "fell"} by ${pointsText(step.rise)} around ${date.format(startMs)}`;
    if (risePerWeek !== null) return `${stepped}, and ${movesText(risePerWeek)} since`;
    if (step.weeks >= fewestWeeks) return `${stepped}; no trend since`;
    return step.rise > 0
      ? `${stepped}, too recently to distinguish a step from growth`
      : `${stepped}; that is too recent to see a trend since`;
  }
  if (risePerWeek !== null) return movesText(risePerWeek);
  if (count < fewestWeeks) return `was ${shareText(level)}`;
  return `has no trend over ${counted(count, "week")}`;
}

function movesText(risePerWeek: number): string {
  return `${risePerWeek > 0 ? "rises" : "falls"} by ${pointsText(risePerWeek)} a week`;
}

/** What else there is to know of a pool, in sentences. @param threshold of its average */
export function poolNotes(
  outlook: Outlook,
  threshold: number,
  of: ReportedKind,
): readonly string[] {
  const [noun] = nouns[of];
  const { usage, resize, servers, peakForecast, averageForecast, weeks } = outlook;
  const { peak, noIdleMs, observedMs, longestNoIdle: longest, needed } = usage;
  const notes: string[] = [];
  if (servers && averageForecast.level !== null) {
    notes.push(averageText(outlook, averageForecast, threshold));
  }
  if (peak && peak.count > 0) {
    notes.push(
      `At the peak in this range ${outlook.isExact ? "" : "at most "}${counted(peak.count, ...nouns[of])} ${peak.count === 1 ? "was" : "were"} occupied (${momentText(peak.fromMs)}).`,
    );
  }
  if (noIdleMs > 0) {
    const stretch = longest
      ? `, up to ${durationText(longest.ms / 1_000)} at a stretch (${momentText(longest.fromMs)})`
      : "";
    notes.push(
      `In this range no ${noun} was idle for ${outlook.isExact ? "" : "up to "}${durationText(noIdleMs / 1_000)}, ${shareText(noIdleMs / observedMs)} of the observed time${stretch}.`,
    );
  }
  if (needed) {
    notes.push(
      needed.isMore
        ? `In this range more ${of} than there were would have been needed to be enough for 99% of the time.`
        : `In this range ${counted(needed.servers, ...nouns[of])} would have been enough for 99% of the time.`,
    );
  }
  if (resize) {
    const now = servers === 1 ? "one that there is" : `${servers} that there are`;
    const shares = servers === 0 ? "" : `: shares are of the ${now} now`;
    notes.push(
      `The number of ${of} changed from ${resize.from} to ${resize.to} around ${date.format(resize.atMs)}${shares}.`,
    );
  }
  if (peakForecast.unusual) {
    const { week, by } = peakForecast.unusual;
    const isLast = week === weeks.length - 1;
    notes.push(
      `The peak of the week from ${date.format(weeks[week]?.startMs ?? 0)} was ${pointsText(by)} ${by > 0 ? "above" : "below"} the others and is not part of the trend${isLast ? ": a single week is no trend yet" : ""}.`,
    );
  }
  const empty = weeks.filter(({ isEmpty }) => isEmpty).length;
  if (empty > 0) {
    notes.push(
      `There were no ${of} in ${counted(empty, "week")} of the last ${weeks.length}: ${empty === 1 ? "it is" : "they are"} not part of the trend.`,
    );
  }
  // Without servers now, there are no shares of which to see a trend.
  const gaps = servers === 0 ? 0 : weeks.length - peakForecast.weeks - empty;
  if (gaps > 0 && gaps === weeks.length) {
    notes.push("No week was observed well enough for a trend.");
  } else if (gaps > 0) {
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
export function overallAnswer(all: readonly NamedOutlook[], of: ReportedKind): string {
  // Those whose servers disappeared in the last week cannot run out.
  const pools = all.filter(({ outlook }) => outlook.servers !== 0);
  const standing = (wanted: ReturnType<typeof standingOf>) =>
    pools.filter(({ outlook }) => standingOf(outlook) === wanted);
  const [full, dated, perhaps] = [standing("full"), standing("runs_out"), standing("perhaps_full")];
  const [next] = dated;
  const others = pools.length - full.length - standing("single").length;
  if (full.length > 1 || (full.length === 1 && (next ?? others > 0))) {
    const rest = next
      ? `${next.name} is next, around ${dateAt(next.outlook, next.outlook.peakForecast)}`
      : `no date is known for the other ${others === 1 ? "pool" : `${others} pools`}`;
    const [run, its] = full.length === 1 ? ["runs", "its"] : ["run", "their"];
    const end = others === 0 ? "" : `; ${rest}`;
    return sentence(
      `${listText(full)} already ${run} out: at times in the last week none of ${its} ${of} was idle${end}.`,
    );
  }
  const [first] = full.length > 0 ? full : dated;
  if (first) return poolAnswer(first, of);
  const [tightest] = standing("no_date");
  if (perhaps.length > 0) {
    return sentence(
      `${listText(perhaps)} may already run out: at times in the last week perhaps none of the ${of} was idle. Ask by more fields to know.`,
    );
  }
  const [any] = pools;
  if (!any) return `There are no ${of} that can run out.`;
  if (pools.length === 1 || standingOf(any.outlook) === "rose_recently") return poolAnswer(any, of);
  if (tightest) {
    const { headroom, servers } = tightest.outlook;
    return `No pool shows a sign of running out within ${mostWeeks} weeks; ${tightest.name} has the least headroom (${countText(headroom)} of ${counted(servers ?? 0, ...nouns[of])} free at the last weekly peak).`;
  }
  return standingOf(any.outlook) === "single"
    ? `No pool has more than one ${nouns[of][0]}: ask by fewer fields.`
    : `It is unknown when one of the ${pools.length} pools runs out: a trend needs ${fewestWeeks} whole weeks, the last one among them.`;
}

function listText(pools: readonly NamedOutlook[]): string {
  const names = pools.slice(0, namesShown).map(({ name }) => name);
  const more = pools.length - names.length;
  const all = more > 0 ? [...names, `${more} more`] : names;
  return all.length === 1 ? (all[0] ?? "") : `${all.slice(0, -1).join(", ")} and ${all.at(-1)}`;
}
