import { countByStatus, noneByStatus } from "../snapshot/tallies.ts";
import type { CountByStatus } from "../snapshot/tallies.ts";
import type { Booking } from "./booking.ts";
import { addTimes } from "./bucket.ts";
import type { NameAccount } from "./bucket.ts";

/** What goes on being booked: the same servers, in the same statuses. */
type Steady = Pick<Booking, "observed" | "tallies">;

/**
 * The accounts of a bucket to which the same is booked again and again, as it most often is from poll
 * to poll. Then one number grows, and each account is worked out when it is asked for.
 */
export class SteadyNames implements ReadonlyMap<string, NameAccount> {
  /** All that is booked, but for the time of what goes on. */
  readonly begun: ReadonlyMap<string, NameAccount>;
  /** For how long it goes on. */
  readonly ms: number;
  private readonly steady: Steady;

  constructor(begun: ReadonlyMap<string, NameAccount>, { observed, tallies }: Steady, ms: number) {
    this.begun = begun;
    this.steady = { observed, tallies };
    this.ms = ms;
  }

  /** For some more milliseconds; null where something else is booked in them. */
  goOn({ observed, tallies }: Steady, ms: number): SteadyNames | null {
    const { begun, steady } = this;
    const isSame = observed === steady.observed && tallies === steady.tallies;
    return isSame ? new SteadyNames(begun, steady, this.ms + ms) : null;
  }

  get size(): number {
    return this.begun.size;
  }

  has(name: string): boolean {
    return this.begun.has(name);
  }

  get(name: string): NameAccount | undefined {
    const account = this.begun.get(name);
    return account && this.grown(account, name);
  }

  forEach(take: (account: NameAccount, name: string, all: this) => void): void {
    this.begun.forEach((account, name) => take(this.grown(account, name), name, this));
  }

  keys(): MapIterator<string> {
    return this.begun.keys();
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
