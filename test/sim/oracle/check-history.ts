import type { Period, StoredChange } from "../history.ts";
import { violation, type Evidence, type Violation } from "./evidence.ts";
import { without } from "./periods.ts";
import type { TargetHistory } from "./target-history.ts";
import type { TrueChange, Truth } from "./truth.ts";

const mostViolations = 3;

/** What is stored of a target is what its polls showed, to the millisecond. */
export function checkHistory(
  evidence: Evidence,
  target: string,
  { truth, boxes }: TargetHistory,
): readonly Violation[] {
  const stored = evidence.stored.get(target);
  if (!stored) return [violation(`${target}: nothing is stored`, target)];
  const changes = [...truth.changes, ...boxes.changes].map(trueChangeLine);
  const faults = [
    ...differences(stored.changes.map(changeLine), changes).map((fault) => `changes ${fault}`),
    ...gapFaults(stored.gaps, truth).map((fault) => `gaps ${fault}`),
  ];
  return faults.map((fault) => violation(`${target}: ${fault}`, target));
}

function changeLine({ atMs, sandboxId, serverId, from, to, ...rest }: StoredChange): string {
  const { dwellMs, observation } = rest;
  const subject = [sandboxId, serverId ?? []].flat().join(" ");
  return JSON.stringify([atMs, subject, from, to, dwellMs, observation]);
}

function trueChangeLine({ atMs, server, from, to, dwellMs, observation }: TrueChange): string {
  return JSON.stringify([atMs, server, from, to, dwellMs, observation]);
}

function differences(found: readonly string[], expected: readonly string[]): readonly string[] {
  return [
    ...linesWithout(expected, found)
      .slice(0, mostViolations)
      .map((line) => `lack ${line}`),
    ...linesWithout(found, expected)
      .slice(0, mostViolations)
      .map((line) => `invent ${line}`),
  ];
}

/** With repetitions. */
function linesWithout(lines: readonly string[], others: readonly string[]): readonly string[] {
  const left = new Map<string, number>();
  for (const line of others) left.set(line, (left.get(line) ?? 0) + 1);
  return lines.filter((line) => {
    const count = left.get(line) ?? 0;
    left.set(line, count - 1);
    return count <= 0;
  });
}

/** The stored gaps are the time of the calendar in which nobody observed the target. */
function gapFaults(stored: readonly Period[], { stretches }: Truth): readonly string[] {
  const unobserved = stretches.filter(({ observed }) => !observed);
  const textsOf = (what: string, periods: readonly Period[]): readonly string[] =>
    periods
      .slice(0, mostViolations)
      .map(({ fromMs, toMs }) => `${what} from ${fromMs} to ${toMs} UTC`);
  const overlaps = stored.filter((each, at) => each.fromMs < (stored[at - 1]?.toMs ?? -Infinity));
  const missing = unobserved.flatMap((each) => without(each, stored));
  const invented = stored.flatMap((each) => without(each, unobserved));
  return [
    ...textsOf("overlap", overlaps),
    ...textsOf("lack the time", missing),
    ...textsOf("invent the time", invented),
  ];
}
