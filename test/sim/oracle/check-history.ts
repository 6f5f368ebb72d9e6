import { statuses } from "../../../src/core/model.ts";
import type { Status } from "../../../src/core/model.ts";
import { resolutions } from "../../../src/core/occupancy/bucket.ts";
import type { PollRecord } from "../../support/history/poll-record.ts";
import type { ScriptServer } from "../../support/history/script.ts";
import { plainBucket, trueBuckets } from "../../support/history/true-buckets.ts";
import type { PlainBucket } from "../../support/history/true-buckets.ts";
import { truthOf } from "../../support/history/truth.ts";
import type { Truth } from "../../support/history/truth.ts";
import type { History, KeptHistory } from "../history.ts";
import type { Scenario, ScenarioTarget } from "../scenario.ts";
import type { OfferedPoll } from "../support/poll-ledger.ts";
import { violation } from "./violation.ts";
import type { Violation } from "./violation.ts";

/** What is kept of a target is what its polls showed, to the millisecond. */
export function checkHistory(
  scenario: Scenario,
  history: History,
  target: ScenarioTarget,
): readonly Violation[] {
  const { name } = target;
  const kept = history.kept.get(name);
  if (!kept) return [violation(`${name}: nothing is kept`, name)];
  const servers = serversOf(target);
  const records = recordsOf(history.polls.get(name) ?? [], servers);
  const truth = truthOf(records, [...servers.values()], scenario.goneAfter);
  return [
    ...differences(`${name}: changes`, changeLines(kept), trueChangeLines(truth), name),
    ...(isSteppedBack(records)
      ? []
      : resolutions.flatMap((resolution) =>
          differences(
            `${name}: buckets of ${resolution}`,
            bucketLines((kept.buckets.get(resolution) ?? []).map(plainBucket)),
            bucketLines(trueBuckets(truth, resolution)),
            name,
          ),
        )),
    ...resolutions.flatMap((resolution) => {
      const buckets = (kept.buckets.get(resolution) ?? []).map(plainBucket);
      const [booked, passed] = [bookedMs(buckets), bookedMs(trueBuckets(truth, resolution))];
      const text = `${name}: ${booked} ms are booked in ${resolution}, ${passed} ms passed`;
      return booked === passed ? [] : [violation(text, name)];
    }),
  ];
}

function serversOf({ sandboxes }: ScenarioTarget): ReadonlyMap<string, ScriptServer> {
  const all = Array.from(sandboxes).flatMap(([sandboxId, ids]) =>
    ids.map((serverId): [string, ScriptServer] => [
      `${sandboxId} ${serverId}`,
      { sandboxId, serverId, serverName: `tool-${serverId}`, stays: [] },
    ]),
  );
  return new Map(all);
}

function recordsOf(
  polls: readonly OfferedPoll[],
  servers: ReadonlyMap<string, ScriptServer>,
): readonly PollRecord[] {
  const records: PollRecord[] = [];
  let last: OfferedPoll | null = null;
  let isBroken = true;
  for (const poll of polls) {
    if (poll.life !== last?.life) isBroken = true;
    if (poll.kept !== true) {
      isBroken = true;
      continue;
    }
    const { utcMs, monotonicMs, sighting } = poll;
    const inUtcMs = last === null ? 0 : Math.max(0, utcMs - last.utcMs);
    const shown = Array.from(sighting?.shown ?? []).flatMap(
      ([id, status]): readonly [ScriptServer, Status][] => {
        const server = servers.get(id);
        return server ? [[server, statuses.find((each) => each === status) ?? "unknown"]] : [];
      },
    );
    records.push({
      utcMs,
      elapsedMs: isBroken || last === null ? inUtcMs : monotonicMs - last.monotonicMs,
      unbroken: !isBroken,
      accepted: sighting !== null,
      complete: sighting?.complete ?? false,
      shown: new Map(shown),
    });
    isBroken = false;
    last = poll;
  }
  return records;
}

/** Time that the calendar has twice is booked where it is open. */
function isSteppedBack(records: readonly PollRecord[]): boolean {
  return records.some(
    ({ utcMs, elapsedMs }, at) => utcMs - elapsedMs < (records[at - 1]?.utcMs ?? -Infinity),
  );
}

function bookedMs(buckets: readonly PlainBucket[]): number {
  return buckets.reduce((sum, bucket) => sum + bucket.bookedMs, 0);
}

function bucketLines(buckets: readonly PlainBucket[]): readonly string[] {
  return buckets.flatMap(({ startMs, bookedMs: ms, unobservedMs, extent, names }) =>
    ms === 0 && Object.keys(names).length === 0
      ? []
      : [
          JSON.stringify([startMs, ms, unobservedMs, extent]),
          ...Object.entries(names).map(([name, account]) =>
            JSON.stringify([startMs, name, account]),
          ),
        ],
  );
}

function changeLines({ changes }: KeptHistory): readonly string[] {
  return changes.map(({ atMs, sandboxId, serverId, from, to, stayMs, lapse }) =>
    JSON.stringify([atMs, sandboxId, serverId, from, to, stayMs, lapse]),
  );
}

function trueChangeLines({ changes, lapses }: Truth): readonly string[] {
  return [
    ...changes.map(({ atMs, server: { sandboxId, serverId }, from, to, stayMs }) =>
      JSON.stringify([atMs, sandboxId, serverId, from, to, stayMs, null]),
    ),
    ...lapses.map(({ atMs, server: { sandboxId, serverId }, status, kind }) =>
      JSON.stringify([atMs, sandboxId, serverId, status, status, null, kind]),
    ),
  ];
}

const fewToTell = 3;

function differences(
  what: string,
  found: readonly string[],
  expected: readonly string[],
  about: string,
): readonly Violation[] {
  const missing = without(expected, found);
  const invented = without(found, expected);
  return [
    ...missing.slice(0, fewToTell).map((line) => violation(`${what} lack ${line}`, about)),
    ...invented.slice(0, fewToTell).map((line) => violation(`${what} invent ${line}`, about)),
  ];
}

/** With repetitions. */
function without(some: readonly string[], others: readonly string[]): readonly string[] {
  const left = new Map<string, number>();
  for (const line of others) left.set(line, (left.get(line) ?? 0) + 1);
  return some.filter((line) => {
    const count = left.get(line) ?? 0;
    left.set(line, count - 1);
    return count <= 0;
  });
}
