import type { TargetRule } from "../draw/rules.ts";
import type { ServiceRequest, StoredPoll } from "../history.ts";
import { longestPollDistanceMs } from "./due-polls.ts";
import { hasFault, stalledMs, type Evidence, type Listing } from "./evidence.ts";
import type { Finding } from "./incident-model.ts";
import type { Observation } from "./observations.ts";
import { isRefusal } from "./read-answer.ts";
import type { TargetHistory } from "./target-history.ts";

/** How a poll fails: the key is refused or limited, or anything else. */
export type FailureKind = "auth" | "rate_limited" | "outage";

/** A poll of a target that was stored, also one that sent nothing. The span is the time since the one before. */
export interface JudgedPoll extends Observation {
  readonly stored: StoredPoll;
  /** Null: it failed. */
  readonly shown: Listing["shown"] | null;
  readonly boxes: Listing["boxes"] | null;
  /** False: nothing was sent, as the key had been refused. */
  readonly isCounted: boolean;
  /** How it may have failed; empty: it did not. */
  readonly kinds: readonly FailureKind[];
  /** Counted polls in a row that failed. */
  readonly failures: number;
  /** When the first of them ended. */
  readonly sinceUtcMs: number;
}

/** Until what a poll or a run decided is written. */
export const gatherMs = 200;

export function judgedPollsOf(
  evidence: Evidence,
  target: string,
  { polls }: TargetHistory,
): readonly JudgedPoll[] {
  const backOffs = evidence.storedBackOffs
    .filter((each) => each.target === target)
    .map((stored) => ({ stored, request: null, listing: null, isCounted: false }));
  const inOrder = [...polls.map((poll) => ({ ...poll, isCounted: true })), ...backOffs].toSorted(
    (one, other) => one.stored.moment - other.stored.moment,
  );
  const judged: JudgedPoll[] = [];
  for (const { stored, request, listing, isCounted } of inOrder) {
    const { life, moment, atMs: toMs, utcMs } = stored;
    const last = judged.at(-1);
    const waitedMs = gatherMs + stalledMs(evidence, toMs - 3_000, toMs);
    const end = request?.exchange.end ?? { atMs: toMs - waitedMs, utcMs: utcMs - waitedMs, moment };
    const isSame = last?.life === life;
    const isBroken =
      !isSame ||
      hasFault(evidence, life, last.moment, toMs) ||
      stalledMs(evidence, last.fromMs, toMs) > 0 ||
      toMs - last.fromMs > 1.1 * longestPollDistanceMs(evidence.scenario);
    const kinds = listing ? [] : kindsOf(request, isCounted);
    const wasDown = kinds.length > 0 && last !== undefined && last.kinds.length > 0;
    judged.push({
      stored,
      shown: listing?.shown ?? null,
      boxes: listing?.boxes ?? null,
      life,
      moment: end.moment,
      utcMs: end.utcMs,
      fromMs: end.atMs,
      toMs,
      leastMs: isBroken ? 0 : Math.max(0, end.atMs - last.toMs),
      mostMs: isSame ? toMs - last.fromMs : 0,
      isCounted,
      kinds,
      failures: (wasDown ? last.failures : 0) + (isCounted ? 1 : 0),
      sinceUtcMs: wasDown ? last.sinceUtcMs : end.utcMs,
    });
  }
  return judged;
}

/** Where the last request was cut off, the one before it decides. */
function kindsOf(request: ServiceRequest | null, isCounted: boolean): readonly FailureKind[] {
  if (!isCounted || (request && isRefusal(request))) return ["auth"];
  if (request?.exchange.end?.how === "whole") {
    return request.answer?.status === 429 ? ["rate_limited"] : ["outage"];
  }
  return ["rate_limited", "outage"];
}

/** Any other failure hides whether the key is still refused. */
export function findingOf({ trouble }: TargetRule, { kinds }: JudgedPoll): Finding {
  if (kinds.length === 0) return "clears";
  return trouble === "failing" || kinds.includes("auth") ? "holds" : "unstated";
}
