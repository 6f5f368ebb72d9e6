import { statuses } from "../model.ts";
import type { Status } from "../model.ts";

export type CountByStatus = Readonly<Record<Status, number>>;

/** How many servers of one name are in each status. */
export interface NameTally {
  /** The name as aggregates show it: past the limit of distinct names it is `other`. */
  readonly name: string;
  /** All that are not gone. */
  readonly servers: CountByStatus;
  /** Those that the last complete listing held: only their time is observed. */
  readonly listed: CountByStatus;
}

/** Past this many distinct names a target's further ones are counted as `other`. */
export const maxDistinctNames = 200;

export interface MutableTally extends NameTally {
  readonly servers: Record<Status, number>;
  readonly listed: Record<Status, number>;
}

/** Servers and sandboxes counted, so that no aggregate has to walk over them. */
export interface Tallies {
  readonly names: ReadonlyMap<string, NameTally>;
  readonly sandboxes: Record<Status, number>;
  readonly serverCount: number;
  aggregateName(serverName: string | null): string;
  countServer(serverName: string | null, status: Status, missing: number, by: number): void;
  /** Where servers of the name are counted from now on. */
  tallyOf(serverName: string | null): MutableTally;
  /** The same counts, to go on from. */
  copy(): Tallies;
}

export function createTallies(from?: Tallies): Tallies {
  const names = new Map<string, MutableTally>();
  for (const [key, { name, servers, listed }] of from?.names ?? []) {
    names.set(key, { name, servers: { ...servers }, listed: { ...listed } });
  }
  const sandboxes = from ? { ...from.sandboxes } : noneByStatus();
  let serverCount = from?.serverCount ?? 0;

  const aggregateName = (serverName: string | null): string => nameBeside(names, serverName ?? "");

  const tallyOf = (serverName: string | null): MutableTally => {
    let tally = names.get(serverName ?? "");
    const name = tally ? tally.name : aggregateName(serverName);
    tally ??= names.get(name);
    if (!tally) {
      tally = { name, servers: noneByStatus(), listed: noneByStatus() };
      names.set(name, tally);
    }
    return tally;
  };

  const tallies: Tallies = {
    names,
    sandboxes,
    get serverCount() {
      return serverCount;
    },
    aggregateName,
    countServer(serverName, status, missing, by) {
      const tally = tallyOf(serverName);
      tally.servers[status] += by;
      if (missing === 0) tally.listed[status] += by;
      serverCount += by;
    },
    tallyOf,
    copy: () => createTallies(tallies),
  };
  return tallies;
}

/** One server that is listed has another status. */
export function restateServer(
  { servers, listed }: MutableTally,
  before: Status,
  after: Status,
): void {
  count(servers, before, -1);
  count(listed, before, -1);
  count(servers, after, 1);
  count(listed, after, 1);
}

/** As aggregates show it beside the names that were counted before. */
export function nameBeside(counted: ReadonlyMap<string, unknown>, name: string): string {
  return counted.has(name) || counted.size < maxDistinctNames ? name : "other";
}

/** By name: by a key that is another one each time V8 looks for the field anew. */
function count(counts: Record<Status, number>, status: Status, by: 1 | -1): void {
  if (status === "idle") counts.idle += by;
  else if (status === "occupied") counts.occupied += by;
  else if (status === "error") counts.error += by;
  else counts.unknown += by;
}

/** How many there are, or how long, whatever the status. */
export function countByStatus(counts: CountByStatus): number {
  return counts.idle + counts.occupied + counts.error + counts.unknown;
}

export function noneByStatus(): Record<Status, number> {
  return { idle: 0, occupied: 0, error: 0, unknown: 0 };
}

export function* eachStatus(counts: CountByStatus): Iterable<readonly [Status, number]> {
  for (const status of statuses) yield [status, counts[status]];
}
