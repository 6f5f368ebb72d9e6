import type { Heartbeat } from "../history.ts";
import {
  hasFault,
  settlingMs,
  stalledMs,
  violation,
  type Evidence,
  type Violation,
} from "./evidence.ts";
import { longestPollDistanceMs } from "./due-polls.ts";
import { knownAt } from "./known-target.ts";
import type { TargetHistory } from "./target-history.ts";

/** How long a process may take to stop: what is being sent gets five seconds. */
const graceMs = 6_000;

/** By then it is written that a poll changed nothing. */
const clocksWrittenMs = 5_000;

/** Each process starts, writes what it has in memory and stops in time, whatever else goes wrong. */
export function checkLives(evidence: Evidence): readonly Violation[] {
  return evidence.lives.flatMap(({ number, ended, lastPollMs, endMs }) => {
    const says = (what: string): Violation =>
      violation(`process ${number} ${what}`, `process ${number} `);
    const isStopped = ended?.how === "stopped";
    const unwritten = evidence.unsavedPolls.find(({ life, moment, atMs }) => {
      const takenMs = atMs + clocksWrittenMs + settlingMs + stalledMs(evidence, atMs);
      const isLate = isStopped || (endMs ?? evidence.endMs) > takenMs;
      return life === number && isLate && !hasFault(evidence, number, moment);
    });
    if (unwritten) {
      return [says(`did not write that ${unwritten.target} was polled at ${unwritten.atMs} ms`)];
    }
    if (ended?.how === "could not start") {
      return hasFault(evidence, number) ? [] : [says(`could not start: ${ended.error}`)];
    }
    if (ended?.how === "killed" || lastPollMs === null) return [];
    const latestMs = lastPollMs + graceMs + stalledMs(evidence, lastPollMs);
    return [
      ...(ended?.how === "stopped badly" ? [says(`stopped badly: ${ended.error}`)] : []),
      ...((endMs ?? Infinity) > latestMs ? [says(`did not stop in ${graceMs} ms`)] : []),
    ];
  });
}

/** By then all that waited for receivers has been delivered: once each target was polled, too, nothing prevents a heartbeat. */
const recoveryMs = 30 * 60_000;

/** Heartbeats come while all is well, and not while a process has not polled or its store takes nothing. */
export function checkHeartbeats(
  evidence: Evidence,
  histories: ReadonlyMap<string, TargetHistory>,
): readonly Violation[] {
  const { scenario, heartbeats, lives, endMs } = evidence;
  if (scenario.heartbeat === null) return [];
  const roundMs = longestPollDistanceMs(scenario);
  // The last process can start later.
  const wellMs = Math.max(
    scenario.calmMs + Math.max(recoveryMs, 2 * roundMs),
    lives.at(-1)?.watchMs ?? 0,
  );
  const times = [...heartbeats.map(({ atMs }) => atMs), endMs].filter((atMs) => atMs >= wellMs);
  const longestMs = 2 * scenario.heartbeat.everyMs + 15_000;
  const late = times.findIndex((atMs, at) => atMs - (times[at - 1] ?? wellMs) > longestMs);
  const early = heartbeats.map((heartbeat) => {
    const { life, sentMs: atMs } = heartbeat;
    const moment = evidence.dueMs.findLastIndex((ms) => ms <= atMs) + 1;
    const ofTargets = Array.from(histories).flatMap(([target, history]) => {
      const { kind } = knownAt(evidence, target, history, { life, moment, atMs });
      if (kind === "unpolled") return [`${target} was not polled`];
      return kind === "lost" ? [`the last poll of ${target} was not stored`] : [];
    });
    const outages = outagesAt(evidence, heartbeat, 2.5 * roundMs + scenario.timeoutMs);
    return { atMs, reasons: [...ofTargets, ...outages] };
  });
  const found = early.find(({ reasons }) => reasons.length > 0);
  const period = `from ${times[late - 1] ?? wellMs} to ${times[late]} ms`;
  return [
    ...(late < 0 ? [] : [violation(`no heartbeat came ${period}, though all was well`)]),
    ...(found
      ? [violation(`a heartbeat at ${found.atMs} ms, though ${found.reasons.join(", ")}`)]
      : []),
  ];
}

/** A read-only disk still answers queries: that nothing is stored shows once each target had a poll. */
function outagesAt(
  { storeOutages, lives }: Evidence,
  { life, sentMs }: Heartbeat,
  roundMs: number,
): readonly string[] {
  return storeOutages
    .filter(({ fromMs, toMs, what }) => {
      const sinceMs = Math.max(fromMs, lives[life - 1]?.startMs ?? 0);
      const beganMs = sinceMs + (what === "is read-only" ? roundMs : 0);
      return sentMs > beganMs && sentMs < toMs;
    })
    .map(({ what }) => `the store ${what}`);
}
