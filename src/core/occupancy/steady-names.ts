import { countByStatus, noneByStatus } from "../snapshot/tallies.ts";
import type { CountByStatus } from "../snapshot/tallies.ts";
import type { Booking } from "./booking.ts";
import { addTimes } from "./bucket.ts";
import type { Bucket, NameAccount } from "./bucket.ts";

/** What goes on being booked: the same servers, in the same statuses. */
export type Steady = Pick<Booking, "observed" | "tallies">;

/** All that is booked in a bucket but the time of what goes on. Its extents are as wide as that. */
export interface Begun extends Pick<Bucket, "extent" | "names"> {
  /** Whether nothing else was booked before. */
  readonly isFirst: boolean;
}

/**
 * The accounts of a bucket to which the same is booked again and again, as it most often is from poll
 * to poll. Then one number grows, and each account is worked out when it is asked for.
 */
export class SteadyNames implements ReadonlyMap<string, NameAccount> {
  readonly begun: Begun;
  readonly steady: Steady;
  /** For how long it goes on. */
  readonly ms: number;

  constructor(begun: Begun, steady: Steady, ms: number) {
    this.begun = begun;
    this.steady = steady;
    this.ms = ms;
  }

  /** For some more milliseconds; null where something else is booked in them. */
  goOn({ observed, tallies }: Steady, ms: number): SteadyNames | null {
    const { begun, steady } = this;
    const isSame = observed === steady.observed && tallies === steady.tallies;
    return isSame ? new SteadyNames(begun, steady, this.ms + ms) : null;
  }

  get size(): number {
    return this.begun.names.size;
  }

  has(name: string): boolean {
    return this.begun.names.has(name);
  }

  get(name: string): NameAccount | undefined {
    const account = this.begun.names.get(name);
    return account && this.grown(account, name);
  }

  forEach(take: (account: NameAccount, name: string, all: this) => void): void {
    this.begun.names.forEach((account, name) => take(this.grown(account, name), name, this));
  }

  keys(): MapIterator<string> {
    return this.begun.names.keys();
  }

  values(): MapIterator<NameAccount> {
    return this.worked().values();
  }

  entries(): MapIterator<[string, NameAccount]> {
    return this.worked().entries();
  }

  [Symbol.iterator](): MapIterator<[string, NameAccount]> {
    return this.entries();
  }

  private worked(): Map<string, NameAccount> {
    const names = new Map<string, NameAccount>();
    this.forEach((account, name) => names.set(name, account));
    return names;
  }

  courseOf(name: string): Course {
    const { observed, tallies } = this.steady;
    const tally = tallies.get(name);
    if (!tally) return noCourse;
    const servers = countByStatus(tally.servers);
    if (!observed) return { listed: noCourse.listed, unseen: servers };
    return { listed: tally.listed, unseen: servers - countByStatus(tally.listed) };
  }

  private grown(begun: NameAccount, name: string): NameAccount {
    return this.ms === 0 ? begun : goneOn(begun, this.courseOf(name), this.ms);
  }
}

/** What goes on in a bucket began with this, and did for all that was booked; null: it did not. */
export function soleBegun({ names, bookedMs }: Bucket): Begun | null {
  return names instanceof SteadyNames && names.ms === bookedMs ? names.begun : null;
}

/** Of one name, for as long as nothing changes. */
export interface Course {
  /** Servers that are watched. */
  readonly listed: CountByStatus;
  /** Servers that nobody watches. */
  readonly unseen: number;
}

const noCourse: Course = { listed: noneByStatus(), unseen: 0 };

/** An account after some more milliseconds of a course. */
export function goneOn(begun: NameAccount, { listed, unseen }: Course, ms: number): NameAccount {
  const isExhausted = listed.idle === 0 && countByStatus(listed) > 0;
  return {
    ms: addTimes(begun.ms, listed, ms),
    unobservedMs: begun.unobservedMs + unseen * ms,
    extent: begun.extent,
    exhaustedMs: begun.exhaustedMs + (isExhausted ? ms : 0),
    stays: begun.stays,
  };
}
