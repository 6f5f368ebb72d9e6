import { bookStretch, noAccounts } from "../../../src/core/occupancy/accounts.ts";
import type { Accounts, AccountsStep } from "../../../src/core/occupancy/accounts.ts";
import { endedStays } from "../../support/ended-stays.ts";
import type { EndedStay } from "../../support/ended-stays.ts";
import type { Resolution } from "../../../src/core/occupancy/bucket.ts";
import { noneByStatus } from "../../../src/core/snapshot/tallies.ts";
import type { CountByStatus, NameTally } from "../../../src/core/snapshot/tallies.ts";
import { createWrittenBuckets } from "../../support/history/written-buckets.ts";

export const ledgerStartMs = Date.UTC(2026, 10, 20, 9, 58, 20);

export const tally = (name: string, listed: Partial<CountByStatus>, missing = 0): NameTally => {
  const counts = { ...noneByStatus(), ...listed };
  return { name, listed: counts, servers: { ...counts, idle: counts.idle + missing } };
};

export function byName(tallies: readonly NameTally[]): ReadonlyMap<string, NameTally> {
  return new Map(tallies.map((each) => [each.name, each]));
}

/** What is booked, one stretch after another, as a store would hold it. */
export function createLedger() {
  const buckets = createWrittenBuckets();
  let accounts: Accounts = noAccounts;
  let atMs = ledgerStartMs;
  let last = { tallies: [] as readonly NameTally[], byName: byName([]) };
  return {
    get atMs() {
      return atMs;
    },
    ofResolution: (resolution: Resolution) => buckets.ofResolution(resolution),
    whole: (resolution: Resolution) => buckets.whole(resolution),
    pass(
      elapsedMs: number,
      tallies: readonly NameTally[],
      { observed = true, stays = [] as readonly EndedStay[], steppedMs = 0 } = {},
    ): AccountsStep {
      atMs += elapsedMs + steppedMs;
      // As of a snapshot: the same map for as long as it counts the same.
      if (tallies !== last.tallies) last = { tallies, byName: byName(tallies) };
      const booking = { elapsedMs, observed, tallies: last.byName };
      const step = bookStretch(accounts, booking, atMs, endedStays(stays));
      buckets.write(step.written);
      accounts = step.accounts;
      return step;
    },
    restart() {
      accounts = buckets.accounts();
    },
    goOn(from: Accounts = noAccounts) {
      accounts = from;
    },
  };
}
