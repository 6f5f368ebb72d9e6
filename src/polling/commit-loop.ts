import type { IncidentOutcome } from "../alerts/incident-engine.ts";
import type { IncidentStep } from "../alerts/incident-phase.ts";
import { subjectFacts } from "../alerts/incident.ts";
import { kindOf, namedFacts, placeText } from "../alerts/subjects.ts";
import type { Target } from "../fleet/model.ts";
import { writePaced } from "../lib/logger.ts";
import type { Logger, LogLine } from "../lib/logger.ts";

/** What is shown of a decision once it is committed, beside the state that it leads to. */
interface Publication {
  /** Whose incidents they are; null: those of pools, regions, probes or receivers. */
  readonly target: Target | null;
  readonly incidents: IncidentOutcome;
  /** When it was decided. UTC milliseconds. */
  readonly atMs: number;
  /** They are logged before its incidents. */
  readonly lines?: Iterable<LogLine>;
}

/** What a person does about notifications. */
export interface Act<Done> {
  /** UTC milliseconds. */
  readonly atMs: number;
  /** Decides it and stores it, within one transaction of the store. */
  readonly commit: () => Promise<Done>;
  /** Takes it on: polls are judged by it from now on. */
  readonly accept?: () => Promise<void>;
  /** What is logged of it. Nothing: nothing was changed. */
  readonly lines: (done: Done) => readonly LogLine[];
}

export type CommitLoop = ReturnType<typeof createCommitLoop>;

/** The one way from an input to what is shown of it: decide, commit, publish. */
export function createCommitLoop(log: Logger) {
  const listeners: ((causedAtMs: number) => void)[] = [];

  const wake = (causedAtMs: number): void => {
    for (const listener of listeners) listener(causedAtMs);
  };

  return {
    /** Calls back after each commit that may have added to the outbox. None of it was caused before the moment, UTC milliseconds. */
    onOutbox: (listener: (causedAtMs: number) => void): void => void listeners.push(listener),

    /**
     * Decides an input and stores the decision, together with all others that are gathered. If that commit fails, each of
     * them is decided again over what is committed then, and stored by itself: so only the one that cannot be stored is lost.
     *
     * @returns what was decided. Rejects if it is not stored: nothing may show it, and the next input of its kind decides
     */
    commit<Decided>(decideAndStore: () => Promise<Decided>): Promise<Decided> {
      return decideAndStore().catch(decideAndStore);
    },

    /** Notifies receivers of what was committed, and logs it. */
    async publish(publication: Publication): Promise<void> {
      const { incidents, atMs } = publication;
      if (incidents.outbox.length > 0) wake(atMs);
      await writePaced(log, linesOf(publication));
    },

    /** Commits what a person does and publishes it. Rejects if it is not stored. @returns what was committed */
    async act<Done>({ atMs, commit, accept, lines }: Act<Done>): Promise<Done> {
      const done = await commit();
      const logged = lines(done);
      if (logged.length === 0) return done;
      await accept?.();
      wake(atMs);
      await writePaced(log, logged);
      return done;
    },
  };
}

const levelOfStep = {
  opened: "info",
  dropped: "info",
  fired: "warn",
  muted: "info",
  inhibited: "info",
  reminded: "warn",
  escalated: "warn",
  flapping: "warn",
  settled: "warn",
  resolved: "info",
} as const satisfies Record<IncidentStep, "info" | "warn">;

/** After its own lines one for each step of an incident. */
function* linesOf({ target, incidents, lines = [] }: Publication): Generator<LogLine, void> {
  yield* lines;
  for (const { step, incident } of incidents.steps) {
    const { id, rule, severity, subject, status, phase, inhibitedBy } = incident;
    const facts = subjectFacts(target, subject);
    const fields = Object.entries({ ...namedFacts(facts), status });
    const about = [placeText(facts), kindOf(subject.kind).name(facts), status];
    yield {
      level: levelOfStep[step],
      fields: {
        event: `incident.${step}`,
        ...Object.fromEntries(fields.filter(([, value]) => value !== null)),
        incident_id: id,
        rule,
        severity,
        ...(step === "inhibited" && { inhibited_by: inhibitedBy }),
        ...(phase.name === "resolved" && { reason: phase.reason }),
      },
      msg: `${rule} ${step}: ${about.filter(Boolean).join(" ")}`,
    };
  }
}
