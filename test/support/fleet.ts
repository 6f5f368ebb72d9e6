import { noSuppressions } from "../../src/alerts/silence.ts";
import { judgePoll } from "../../src/alerts/judge.ts";
import type { JudgeOptions, PollOutcome, Verdict } from "../../src/alerts/judge.ts";
import type { Instant, Status, Target } from "../../src/fleet/model.ts";
import type { ConfiguredReceivers } from "../../src/alerts/recipients.ts";
import type { Rule, ServerRule, TargetRule } from "../../src/alerts/rule.ts";
import { nothingKnown } from "../../src/alerts/target-state.ts";
import { emptySnapshot, type ListedServer } from "../../src/fleet/snapshot.ts";
import { watchTarget, type WatchedTarget } from "../../src/polling/watched-target.ts";
import { readListing, type Listing } from "./listing.ts";

export const research: Target = { region: "us", key: "research" };

export const startMs = Date.UTC(2026, 10, 20, 9, 30);

export const serverError: ServerRule = {
  name: "server-error",
  on: "server",
  status: "error",
  for: { kind: "duration", ms: 0 },
  severity: "critical",
  keepFiringForMs: 0,
  remindEveryMs: null,
  flap: null,
  receivers: ["oncall"],
  match: {},
  summaryTemplate: null,
  runbookUrlTemplate: null,
};

export const targetDown: TargetRule = {
  name: "target-down",
  on: "target",
  trouble: "failing",
  flap: null,
  for: { kind: "polls", polls: 3 },
  severity: "warning",
  keepFiringForMs: 0,
  remindEveryMs: null,
  receivers: ["oncall"],
  match: {},
  summaryTemplate: null,
  runbookUrlTemplate: null,
};

/** Receivers that want every message. */
export function wantAll(names: readonly string[] = ["oncall"]): ConfiguredReceivers {
  return new Map(names.map((name) => [name, { sendResolved: true, sendAcknowledged: true }]));
}

export function judgeBy(rules: readonly Rule[] = [serverError, targetDown]): JudgeOptions {
  let incidents = 0;
  return {
    rules,
    goneAfter: 2,
    suppressions: noSuppressions,
    newIncidentId: () => `incident-${++incidents}`,
    receivers: wantAll(),
  };
}

export function server(id: string, more: Partial<ListedServer> = {}): ListedServer {
  return { id, name: "github", status: "idle", benchmark: null, tags: [], ...more };
}

/** A complete listing of one sandbox, `box`, with servers of these statuses. */
export function listing(servers: Readonly<Record<string, Status>>): Listing {
  return {
    complete: true,
    sandboxes: [
      {
        id: "box",
        status: "idle",
        benchmark: null,
        createdAt: Date.UTC(2026, 10, 1),
        servers: Object.entries(servers).map(([id, status]) => server(id, { status })),
      },
    ],
  };
}

export interface WatchedFleet {
  readonly watched: WatchedTarget;
  /** Judges what a poll brought, and takes it on. */
  readonly poll: (outcome: Listing | "failed", seconds?: number) => Verdict;
}

/** A target that was never polled, and its polls, 30 seconds apart. */
export function watchFleet(
  target: Target = research,
  { judge = judgeBy(), staleAfter = 3, id = 1 } = {},
): WatchedFleet {
  const watched = watchTarget({ id, target, ...nothingKnown }, emptySnapshot, {
    staleAfter,
    restoredForMs: 90_000,
    nowUtcMs: startMs,
  });
  let at: Instant = { utcMs: startMs, monotonicMs: 1_000 };
  return {
    watched,
    poll(outcome, seconds = 30) {
      at = { utcMs: at.utcMs + seconds * 1_000, monotonicMs: at.monotonicMs + seconds * 1_000 };
      const verdict = judgePoll(watched.state, toOutcome(outcome), at, judge);
      watched.accept(verdict);
      return verdict;
    },
  };
}

export function toOutcome(outcome: Listing | "failed"): PollOutcome {
  return outcome === "failed"
    ? { kind: "failed", reason: "timeout" }
    : { kind: "listed", listing: readListing(outcome) };
}
