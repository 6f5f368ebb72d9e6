import type { ConfiguredReceivers } from "./recipients.ts";
import { IncidentEngine } from "./incident-engine.ts";
import type { AlertOptions, IncidentOutcome } from "./incident-engine.ts";
import type { Incident } from "./incident.ts";
import { holdIncidents } from "./target-state.ts";
import type { Hold, ReceiverRule } from "./rule.ts";

/** The built-in rule: a notification to a receiver was dead-lettered. */
export const receiverRule = { name: "receiver-failing", severity: "warning" } as const;

/**
 * A receiver that fails now and then is reported at most once in this time. Without that, two of them could report each
 * other for ever.
 */
const quietMs = 5 * 60 * 1_000;

export interface ReceiverState {
  readonly receiver: string;
  readonly incident: Incident | null;
  /** When the latest of its resolved incidents began; null: it never had one. */
  readonly lastStartedAtMs: number | null;
}

export type ReceiverEvent =
  /** A notification to it was dead-lettered. */
  | { readonly kind: "dead_lettered"; readonly reason: string }
  | { readonly kind: "took" }
  /** A silence may have begun or ended, or the configuration may have changed. */
  | { readonly kind: "time_passed" };

/**
 * Decides what becomes of a receiver's incident, of which it has one at most. All other receivers are notified of it, those of
 * the escalation of all rules at their steps.
 */
export function judgeReceiver(
  { receiver, incident, lastStartedAtMs }: ReceiverState,
  event: ReceiverEvent,
  atMs: number,
  options: AlertOptions,
): IncidentOutcome {
  const engine = new IncidentEngine(holdIncidents(incident ? [incident] : []), atMs, options);
  const { receivers } = options;
  if (!receivers.has(receiver)) engine.retireUnowned([]);
  else if (incident || event.kind === "dead_lettered") {
    const rule = ruleOnReceiver(receivers, receiver, holdOf(lastStartedAtMs, atMs));
    const kind = event.kind === "took" ? "clears" : "holds";
    const detail = event.kind === "dead_lettered" ? event.reason : null;
    engine.advance(
      rule,
      { kind: "receiver", receiver },
      { kind, now: { ms: atMs, polls: 0 } },
      { condition: "not accepting notifications", detail },
    );
  }
  return engine.outcome;
}

/** @param failing is not notified itself; null: any */
export function ruleOnReceiver(
  receivers: ConfiguredReceivers,
  failing: string | null,
  hold: Hold = { kind: "duration", ms: 0 },
): ReceiverRule {
  const others = [...receivers].filter(([name]) => name !== failing);
  const steps = Map.groupBy(others, ([, { escalatedAfterMs }]) => escalatedAfterMs);
  const namesOf = (afterMs?: number): readonly string[] =>
    (steps.get(afterMs) ?? []).map(([name]) => name);
  return {
    ...receiverRule,
    on: "receiver",
    for: hold,
    keepFiringForMs: 0,
    remindEveryMs: null,
    receivers: namesOf(),
    escalation: steps
      .keys()
      .filter((afterMs) => afterMs !== undefined)
      .map((afterMs) => ({ afterMs, receivers: namesOf(afterMs) }))
      .toArray()
      .toSorted((one, other) => one.afterMs - other.afterMs),
    match: {},
    summaryTemplate: null,
    runbookUrlTemplate: null,
  };
}

/** Until the quiet time is over, the incident waits. */
function holdOf(lastStartedAtMs: number | null, atMs: number): Hold {
  const agoMs = lastStartedAtMs === null ? Infinity : atMs - lastStartedAtMs;
  // A negative time is a wall clock that was stepped back: that must not keep anything quiet.
  return { kind: "duration", ms: agoMs >= 0 && agoMs < quietMs ? Infinity : 0 };
}
