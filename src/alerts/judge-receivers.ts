import { createIncidentEngine } from "./incident-engine.ts";
import type { IncidentEngine, IncidentOutcome, SubjectEvent } from "./incident-engine.ts";
import { conditionOfIncident } from "./condition.ts";
import { byIncidentKey } from "./incident.ts";
import type { Incident } from "./incident.ts";
import type { Interventions } from "./interventions.ts";
import type { IncidentMessage } from "./notification.ts";
import type { Hold, ReceiverRule } from "./rule.ts";

/** The rule that every sandwatch has, and no configuration: a receiver lost a notification. */
export const receiverRule = { name: "receiver-failing", severity: "warning" } as const;

/**
 * A receiver that refuses now and then is reported once in so long at most. Without that, two of them
 * could go on telling each of the other for ever.
 */
const quietMs = 5 * 60 * 1_000;

/** What is known of a receiver when something happens to it. Times are UTC milliseconds. */
export interface ReceiverState {
  readonly receiver: string;
  readonly incident: Incident | null;
  /** When the latest of its incidents that are over began; null: it never had one. */
  readonly lastStartedAtMs: number | null;
}

export type ReceiverEvent =
  /** A notification to it was given up, for a reason. */
  | { readonly kind: "lost"; readonly reason: string }
  /** It took a notification. */
  | { readonly kind: "took" }
  /** Nothing: time passed, a silence may have begun or ended, the configuration may be another. */
  | { readonly kind: "time_passed" };

export interface ReceiverJudgeOptions {
  /** The names of all that are configured. */
  readonly receivers: readonly string[];
  /** Whether a receiver exists and wants to hear of this. */
  readonly tells: (receiver: string, type: IncidentMessage) => boolean;
  readonly interventions: Interventions;
  readonly newIncidentId: () => string;
}

/**
 * Decides what becomes of a receiver's incident, of which it has one at most. All others are told of
 * it, it itself is not.
 *
 * @param atMs UTC milliseconds
 */
export function judgeReceiver(
  state: ReceiverState,
  event: ReceiverEvent,
  atMs: number,
  options: ReceiverJudgeOptions,
): IncidentOutcome {
  const { receiver, incident } = state;
  const open = byIncidentKey(incident ? [incident] : []);
  const engine = createIncidentEngine({ ...options, target: null, open, flaps: new Map(), atMs });
  if (options.receivers.includes(receiver)) advance(engine, state, event, atMs, options);
  else if (incident) engine.retire(incident, conditionOfIncident(incident));
  return engine.outcome;
}

function advance(
  engine: IncidentEngine,
  { receiver, incident, lastStartedAtMs }: ReceiverState,
  event: ReceiverEvent,
  atMs: number,
  { receivers }: ReceiverJudgeOptions,
): void {
  if (event.kind !== "lost" && !incident) return;
  const rule: ReceiverRule = {
    ...receiverRule,
    on: "receiver",
    for: holdOf(lastStartedAtMs, atMs),
    keepFiringForMs: 0,
    remindEveryMs: null,
    receivers: receivers.filter((name) => name !== receiver),
    match: {},
    summaryTemplate: null,
    runbookUrlTemplate: null,
  };
  const now = { ms: atMs, polls: 0 };
  const happened: SubjectEvent =
    event.kind === "took" ? { kind: "clears", now } : { kind: "holds", now };
  const condition = conditionOfReceiver(event);
  const subjectStatus = { status: null, previousStatus: null, condition };
  engine.advance(rule, { kind: "receiver", receiver }, happened, subjectStatus);
}

/** Until the quiet time is over, the incident waits: what it waits for may not come. */
function holdOf(lastStartedAtMs: number | null, atMs: number): Hold {
  const agoMs = lastStartedAtMs === null ? Infinity : atMs - lastStartedAtMs;
  // A negative time is a wall clock that was stepped back: that must not keep anything quiet.
  const isQuiet = agoMs >= 0 && agoMs < quietMs;
  return { kind: "duration", ms: isQuiet ? Infinity : 0 };
}

function conditionOfReceiver(event: ReceiverEvent): string {
  const condition = "not accepting notifications";
  return event.kind === "lost" ? `${condition} (${event.reason})` : condition;
}
