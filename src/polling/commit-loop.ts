import type { IncidentOutcome } from "../alerts/incident-engine.ts";
import type { IncidentStep } from "../alerts/incident-phase.ts";
import { subjectFacts } from "../alerts/incident.ts";
import { kindOf, namedFacts, placeText } from "../alerts/subjects.ts";
import type { Target } from "../fleet/model.ts";
import { writePaced } from "../lib/logger.ts";
import type { Logger, LogLine } from "../lib/logger.ts";

/** What is decided of an input over what is committed, and what follows once it is committed, too. */
export interface Decision {
  /** Whose incidents they are; null: those of pools, regions, probes or receivers. */
  readonly target: Target | null;
  readonly incidents: IncidentOutcome;
  /** When it was decided. UTC milliseconds. */
  readonly atMs: number;
  /** Stores it, together with all others that are gathered. Rejects if one of them cannot be stored. */
  commit(): Promise<void>;
  /** Takes it on: views and metrics show it from now on. */
  accept?(): void;
  /** Decides what depends on it, before receivers are notified of either. */
  follow?(): Promise<void>;
  /** Logs it, before its incidents. */
  log?(): Promise<void>;
}

type Decide = () => Decision | null | Promise<Decision | null>;

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
  let decidedAgain: Promise<unknown> = Promise.resolve();

  const decideAndCommit = async (decide: Decide): Promise<Decision | null> => {
    const decision = await decide();
    await decision?.commit();
    return decision;
  };
  /** One after the other: all are stored but for the one because of which those that were gathered with it failed. */
  const decideAgain = (decide: Decide): Promise<Decision | null> => {
    const decided = decidedAgain.then(() => decideAndCommit(decide));
    decidedAgain = decided.catch(() => {});
    return decided;
  };

  const wake = (causedAtMs: number): void => {
    for (const listener of listeners) listener(causedAtMs);
  };
  const notify = ({ outbox }: IncidentOutcome, causedAtMs: number): void => {
    if (outbox.length > 0) wake(causedAtMs);
  };

  return {
    /** Calls back after each commit that may have added to the outbox. None of it was caused before the moment, UTC milliseconds. */
    onOutbox: (listener: (causedAtMs: number) => void): void => void listeners.push(listener),

    /**
     * Decides an input, commits the decision and publishes it. If the commit fails, all that was gathered for it fails
     * and is decided again. Rejects if it is not stored then either: nothing shows it, and the next input of its kind decides.
     *
     * @param decide is called right before each commit; null: there is nothing to store
     */
    async submit(decide: Decide): Promise<void> {
      const decision = await decideAndCommit(decide).catch(() => decideAgain(decide));
      if (decision === null) return;
      const { target, incidents, atMs } = decision;
      decision.accept?.();
      await decision.follow?.();
      notify(incidents, atMs);
      await decision.log?.();
      await logIncidents(log, target, incidents);
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

    /** Publishes what was decided and committed within one transaction of the store. */
    async publish(incidents: IncidentOutcome, atMs: number): Promise<void> {
      notify(incidents, atMs);
      await logIncidents(log, null, incidents);
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

/** One line for each step of an incident. @param target null: incidents of pools, probes or receivers */
async function logIncidents(
  log: Logger,
  target: Target | null,
  { steps }: IncidentOutcome,
): Promise<void> {
  if (steps.length === 0) return;
  await writePaced(
    log,
    Iterator.from(steps).map(({ step, incident }): LogLine => {
      const { id, rule, severity, subject, status, phase, inhibitedBy } = incident;
      const facts = subjectFacts(target, subject);
      const fields = Object.entries({ ...namedFacts(facts), status });
      const about = [placeText(facts), kindOf(subject.kind).name(facts), status];
      return {
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
    }),
  );
}
