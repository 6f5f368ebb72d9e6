import { countByStatus } from "../snapshot/tallies.ts";
import type { NameTally } from "../snapshot/tallies.ts";
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
  private readonly begun: ReadonlyMap<string, NameAccount>;
  private readonly steady: Steady;
  private readonly ms: number;

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

  private grown(begun: NameAccount, name: string): NameAccount {
    const tally = this.steady.tallies.get(name);
    if (!tally || this.ms === 0) return begun;
    return this.steady.observed
      ? bookWatched(begun, tally, this.ms)
      : bookUnobserved(begun, tally, this.ms);
  }
}

function bookWatched(begun: NameAccount, { listed, servers }: NameTally, ms: number): NameAccount {
  const listedCount = countByStatus(listed);
  const missing = countByStatus(servers) - listedCount;
  return {
    ms: addTimes(begun.ms, listed, ms),
    unobservedMs: begun.unobservedMs + missing * ms,
    extent: begun.extent,
    exhaustedMs: begun.exhaustedMs + (listedCount > 0 && listed.idle === 0 ? ms : 0),
    stays: begun.stays,
  };
}

function bookUnobserved(begun: NameAccount, { servers }: NameTally, ms: number): NameAccount {
  return { ...begun, unobservedMs: begun.unobservedMs + countByStatus(servers) * ms };
}
