import type { History, KeptGap } from "../history.ts";
import type { ScenarioTarget } from "../scenario.ts";
import { pollRecordsOf } from "./poll-records.ts";
import type { PollRecord } from "./truth.ts";
import { violation } from "./violation.ts";
import type { Violation } from "./violation.ts";

/** Between two polls that were observed, the clocks may differ by less without one of them having been set. */
const slackMs = 1_000;

/**
 * The gaps that are stored of a target are the time of the calendar in which nobody observed it. After a wall clock was
 * set back, the calendar has some time twice: then no gap may be invented, and those before must be there.
 */
export function checkGaps(history: History, { name }: ScenarioTarget): readonly Violation[] {
  const kept = history.kept.get(name)?.gaps;
  // That nothing is kept is another violation.
  if (!kept) return [];
  const records = pollRecordsOf(history, name);
  const steppedAt = records.findIndex(
    ({ utcMs, elapsedMs }, at) => utcMs - elapsedMs < (records[at - 1]?.utcMs ?? -Infinity),
  );
  const isStepped = steppedAt >= 0;
  const sure = unobserved(isStepped ? records.slice(0, steppedAt) : records);
  const possible = isStepped ? unobserved(records) : sure;
  const textOf = ({ fromMs, toMs }: KeptGap): string => `from ${fromMs} to ${toMs} UTC`;
  return [
    ...kept
      .filter((each, at) => each.fromMs < (kept[at - 1]?.toMs ?? -Infinity))
      .map((each) => violation(`${name}: gaps overlap ${textOf(each)}`, name)),
    ...sure
      .filter((each) => !isCovered(each, kept))
      .map((each) => violation(`${name}: gaps lack the time ${textOf(each)}`, name)),
    ...kept
      .filter((each) => !isCovered(each, possible))
      .map((each) => violation(`${name}: gaps invent the time ${textOf(each)}`, name)),
  ].slice(0, mostToTell);
}

const mostToTell = 3;

/** Joined where they touch. */
function unobserved(records: readonly PollRecord[]): readonly KeptGap[] {
  const gaps = records.flatMap(({ utcMs, elapsedMs, unbroken, complete }, at): KeptGap[] => {
    const before = records[at - 1];
    if (!before) return [];
    const isObserved = unbroken && complete && before.complete;
    const toMs = isObserved ? utcMs - elapsedMs : utcMs;
    const leastMs = isObserved ? slackMs : 0;
    return toMs - before.utcMs > leastMs ? [{ fromMs: before.utcMs, toMs }] : [];
  });
  return join(gaps);
}

function join(gaps: readonly KeptGap[]): readonly KeptGap[] {
  const joined: KeptGap[] = [];
  for (const gap of gaps.toSorted((one, other) => one.fromMs - other.fromMs)) {
    const last = joined.at(-1);
    if (!last || last.toMs < gap.fromMs) joined.push(gap);
    else joined.splice(-1, 1, { fromMs: last.fromMs, toMs: Math.max(last.toMs, gap.toMs) });
  }
  return joined;
}

function isCovered({ fromMs, toMs }: KeptGap, gaps: readonly KeptGap[]): boolean {
  return join(gaps).some((each) => each.fromMs <= fromMs && each.toMs >= toMs);
}
