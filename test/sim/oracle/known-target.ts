import type { Moment } from "../history.ts";
import { hasFault, requestsFor, settlingMs, writtenUntilMs, type Evidence } from "./evidence.ts";
import type { TargetHistory } from "./target-history.ts";

/** What is known of a target at a moment of a process. */
export type Known =
  /** The last request's answer was stored as the poll of this index, and nothing has been sent since. */
  | { readonly kind: "settled"; readonly poll: number; readonly isUp: boolean }
  /** A poll has certainly ended that the store did not take. */
  | { readonly kind: "lost" }
  /** No poll has ended since the process started. */
  | { readonly kind: "unpolled" }
  | { readonly kind: "uncertain" };

export function knownAt(
  evidence: Evidence,
  target: string,
  history: TargetHistory | undefined,
  { life, moment, atMs }: Omit<Moment, "utcMs"> & { readonly life: number },
): Known {
  const polls = history?.polls ?? [];
  const requests = requestsFor(evidence, target, life).filter(
    ({ exchange }) => exchange.sentMs <= atMs,
  );
  const isStoredBefore = polls.some(({ stored }) => stored.life === life && stored.moment < moment);
  const last = requests.at(-1);
  const uncertain: Known = { kind: "uncertain" };
  if (!last) return isStoredBefore ? uncertain : { kind: "unpolled" };
  const { end } = last.exchange;
  if (end === null || end.moment >= moment) {
    return requests.length === 1 && !isStoredBefore ? { kind: "unpolled" } : uncertain;
  }
  if (atMs < writtenUntilMs(evidence, end) + settlingMs) return uncertain;
  const index = evidence.requests.indexOf(last);
  const isUp = evidence.listings.some(({ request }) => request === index);
  const [poll, ...later] = polls
    .entries()
    .filter(([, { stored }]) => stored.life === life && stored.moment < moment)
    .filter(([, { stored }]) => stored.moment >= end.moment);
  // It was shown until the process ended.
  const isUnsaved = evidence.unsavedPolls.some(
    (each) => each.target === target && each.life === life && each.moment >= end.moment,
  );
  if (!poll) return isUp && !isUnsaved ? { kind: "lost" } : uncertain;
  return later.length > 0 || hasFault(evidence, life, end.moment)
    ? uncertain
    : { kind: "settled", poll: poll[0], isUp };
}
