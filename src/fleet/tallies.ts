import { statuses, type Status } from "./model.ts";

/**
 * How many servers and sandboxes of a target are in which status, so that no metric, rule or report has to walk over
 * them. The next tallies are the same object where no count differs, and so is the tally of each name.
 *
 * A name that was ever counted stays, with counts of zero, so that no series of a metric vanishes. Past
 * `maxDistinctNames` further names of a target are counted together as `other`.
 */
export interface Tallies {
  /** By the name as aggregates show it; a server without a name counts under the empty one. */
  readonly names: ReadonlyMap<string, NameTally>;
  /** All that are not gone. */
  readonly sandboxes: CountByStatus;
  /** Sandboxes that are not missing; only their time is observed. */
  readonly listedSandboxes: CountByStatus;
  /** The sum of all names. */
  readonly servers: CountByStatus;
}

/** How many servers of one name are in each status. */
export interface NameTally {
  /** The name as aggregates show it. */
  readonly name: string;
  /** All that are not gone. */
  readonly servers: CountByStatus;
  /** Servers that are not missing; only their time is observed. */
  readonly listed: CountByStatus;
}

export type CountByStatus = Readonly<Record<Status, number>>;

export const maxDistinctNames = 200;
const otherNames = "other";

export const noneByStatus: CountByStatus = { idle: 0, occupied: 0, error: 0, unknown: 0 };

export const noTallies: Tallies = {
  names: new Map(),
  sandboxes: noneByStatus,
  listedSandboxes: noneByStatus,
  servers: noneByStatus,
};

/** The name under which aggregates count a server of this name. */
export function aggregateName(
  { names }: Pick<Tallies, "names">,
  serverName: string | null,
): string {
  const name = serverName ?? "";
  return names.has(name) || names.size < maxDistinctNames ? name : otherNames;
}

export function byStatus<Value>(of: (status: Status) => Value): Readonly<Record<Status, Value>> {
  return {
    idle: of("idle"),
    occupied: of("occupied"),
    error: of("error"),
    unknown: of("unknown"),
  };
}

/** How many there are, or how long, in all statuses. */
export function countByStatus(counts: CountByStatus): number {
  return counts.idle + counts.occupied + counts.error + counts.unknown;
}

export function addTimes(to: CountByStatus, counts: CountByStatus, times: number): CountByStatus {
  return byStatus((status) => to[status] + counts[status] * times);
}

type Counts = Record<Status, number>;

/** Adds to tallies and takes away from them, and gives the next ones at the end. */
export class TallyChange {
  private readonly before: Tallies;
  private readonly names: Map<string, NameTally>;
  private readonly changed = new Map<string, { servers: Counts; listed: Counts }>();
  private readonly sandboxes: Counts;
  private readonly listedSandboxes: Counts;
  private readonly servers: Counts;

  constructor(before: Tallies) {
    this.before = before;
    this.names = new Map(before.names);
    this.sandboxes = { ...before.sandboxes };
    this.listedSandboxes = { ...before.listedSandboxes };
    this.servers = { ...before.servers };
  }

  countSandbox({ status, missing }: { status: Status; missing: number }, by: 1 | -1): void {
    this.sandboxes[status] += by;
    if (missing === 0) this.listedSandboxes[status] += by;
  }

  countServer(
    { name, status, missing }: { name: string | null; status: Status; missing: number },
    by: 1 | -1,
  ): void {
    const { servers, listed } = this.countsOf(name ?? "");
    this.servers[status] += by;
    servers[status] += by;
    if (missing === 0) listed[status] += by;
  }

  finish(): Tallies {
    const { before, names, sandboxes, listedSandboxes, servers } = this;
    let isSame =
      isSameCount(before.sandboxes, sandboxes) &&
      isSameCount(before.listedSandboxes, listedSandboxes);
    for (const [name, counts] of this.changed) {
      const known = before.names.get(name);
      const isKnown =
        known &&
        isSameCount(known.servers, counts.servers) &&
        isSameCount(known.listed, counts.listed);
      if (isKnown) continue;
      isSame = false;
      names.set(name, { name, ...counts });
    }
    return isSame ? before : { names, sandboxes, listedSandboxes, servers };
  }

  private countsOf(serverName: string) {
    const known = this.changed.get(serverName);
    if (known) return known;
    const name = aggregateName({ names: this.names }, serverName);
    const begun = this.changed.get(name);
    if (begun) return begun;
    const before = this.before.names.get(name) ?? { servers: noneByStatus, listed: noneByStatus };
    const counts = { servers: { ...before.servers }, listed: { ...before.listed } };
    // Known from now on, so that it counts among the distinct names.
    if (!this.names.has(name)) this.names.set(name, { name, ...before });
    this.changed.set(name, counts);
    return counts;
  }
}

function isSameCount(one: CountByStatus, other: CountByStatus): boolean {
  return statuses.every((status) => one[status] === other[status]);
}
