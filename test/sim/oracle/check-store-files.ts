import type { History, StoreOutage } from "../history.ts";
import { violation } from "./violation.ts";
import type { Violation } from "./violation.ts";

/** What was sent before has come by then. */
const travelMs = 1_000;

/** Each receiver's outbox is looked at twice a minute, and with it the files. */
const noticedMs = 60_000;

/** That a process whose store was moved away says so, stores nothing, and notifies nobody. */
export function checkStoreFiles(history: History): readonly Violation[] {
  const replaced = history.storeOutages.filter(({ what }) => what === "was replaced");
  return [
    ...replaced.flatMap((outage) => checkReplaced(history, outage)),
    ...history.storeLog
      .filter(({ event, life }) => {
        return event === "store.replaced" && !replaced.some((each) => each.life === life);
      })
      .map(({ life }) => violation(`process ${life} took its store for replaced`)),
  ];
}

function checkReplaced(
  history: History,
  { life, fromMs, toMs }: StoreOutage,
): readonly Violation[] {
  const isThen = (each: { readonly life: number; readonly atMs: number }): boolean =>
    each.life === life && each.atMs > fromMs && each.atMs < toMs;
  const says = (atMs: number, what: string): Violation =>
    violation(
      `process ${life} ${what} at ${atMs} ms, though its store was replaced at ${fromMs} ms`,
    );
  const logged = history.storeLog.filter(
    (each) => each.life === life && each.event === "store.replaced",
  ).length;
  // What is under way when they are replaced may still be written; what can be put back has it then.
  const stored = new Set(history.keptPolls.filter(isThen).map(({ moment }) => moment));
  return [
    ...history.scrapes
      .filter((scrape) => isThen(scrape) && scrape.ready === 200)
      .map(({ atMs }) => says(atMs, "was ready")),
    ...history.attempts
      .filter((attempt) => isThen(attempt) && attempt.atMs > fromMs + travelMs)
      .map(({ atMs, receiver }) => says(atMs, `notified ${receiver}`)),
    ...(stored.size > 1 ? [says(toMs, "went on storing polls until it ended")] : []),
    ...(logged > 1 || (logged === 0 && toMs - fromMs > noticedMs)
      ? [violation(`process ${life} logged ${logged} times that its store was replaced`)]
      : []),
  ].slice(0, mostToTell);
}

const mostToTell = 3;
