import { judgeProbe } from "../core/judge-probe.ts";
import type {
  ProbeJudgeOptions,
  ProbeOutcome,
  ProbeVerdict,
  ProbeRun,
} from "../core/judge-probe.ts";
import type { ProbeSubject } from "../core/incident.ts";
import type { Target } from "../core/model.ts";
import { subjectName } from "../core/probe.ts";
import type { Clock } from "../platform/clock.ts";
import type { Secret } from "../platform/secret.ts";
import { createRefusalWatch } from "../polling/refusal-watch.ts";
import type { RefusalWatch } from "../polling/refusal-watch.ts";
import type { CallOperation } from "./call-operation.ts";
import type { WatchedProbe } from "./watched-probe.ts";

/** Told of what probing does, for metrics and logs. */
export interface ProbingObserver {
  /** A verdict was committed, and `watched` holds it. */
  committed(watched: WatchedProbe, verdict: ProbeVerdict): void;
  /** A run broke, most likely on the store: nothing of it counts, the next one decides afresh. */
  runFailed(subject: ProbeSubject, error: unknown): void;
}

export interface ProbingDeps {
  readonly probes: readonly { readonly watched: WatchedProbe; readonly apiKey: Secret }[];
  readonly callOperation: CallOperation;
  readonly commit: (id: number, verdict: ProbeVerdict) => Promise<void>;
  readonly judge: ProbeJudgeOptions;
  /** Whether somebody was told that a target cannot be seen. */
  readonly isTold: (target: Target) => boolean;
  readonly clock: Clock;
  readonly observer: ProbingObserver;
  /** Called after a commit that gave the outbox something to tell. */
  readonly onOutbox: () => void;
}

export interface Probing {
  /**
   * One run of a probe: asks, decides, commits, and only then shows. Never rejects. The deadline is
   * when its next run comes, in monotonic milliseconds.
   */
  run(subject: ProbeSubject, deadlineMs: number): Promise<void>;
  /** Ends the calls under way; commits under way go on. */
  abort(): void;
}

interface Prober {
  readonly watched: WatchedProbe;
  readonly apiKey: Secret;
  readonly refusal: RefusalWatch;
}

export function createProbing(deps: ProbingDeps): Probing {
  const { clock, observer } = deps;
  const stopping = new AbortController();
  const probers = new Map(
    deps.probes.map(({ watched, apiKey }): [string, Prober] => [
      subjectName(watched.subject),
      { watched, apiKey, refusal: createRefusalWatch(clock) },
    ]),
  );

  const ask = async (
    { watched, apiKey, refusal }: Prober,
    deadlineMs: number,
  ): Promise<ProbeRun | null> =>
    refusal.isBackingOff()
      ? { outcome: { kind: "backing_off" }, durationMs: null }
      : deps.callOperation(watched.probe, watched.subject, {
          apiKey,
          deadlineMs,
          signal: stopping.signal,
        });

  const takeTurn = async (prober: Prober, deadlineMs: number): Promise<void> => {
    const { watched, refusal } = prober;
    const startedMs = clock.now().monotonicMs;
    const run = await ask(prober, deadlineMs);
    if (!run) return;
    refusal.note(endOf(run.outcome, watched.probe.expect.status), { startedMs, deadlineMs });
    const isTold = deps.isTold(watched.subject);
    const verdict = judgeProbe(watched.state, run, clock.now(), deps.judge, isTold);
    await deps.commit(watched.id, verdict);
    watched.accept(verdict);
    if (verdict.incidents.outbox.length > 0) deps.onOutbox();
    observer.committed(watched, verdict);
  };

  return {
    async run(subject, deadlineMs) {
      const prober = probers.get(subjectName(subject));
      if (!prober || stopping.signal.aborted) return;
      try {
        await takeTurn(prober, deadlineMs);
      } catch (error) {
        prober.watched.loseRun();
        observer.runFailed(subject, error);
      }
    },
    abort: () => stopping.abort(),
  };
}

/** A refusal that is expected says nothing against the key. */
function endOf(outcome: ProbeOutcome, expected: number): Parameters<RefusalWatch["note"]>[0] {
  if (outcome.kind === "read") return { kind: "ok" };
  return outcome.kind === "failed" && outcome.status === expected ? { kind: "ok" } : outcome;
}
