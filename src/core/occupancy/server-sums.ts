import { statuses } from "../model.ts";
import type { Status } from "../model.ts";
import { noneByStatus } from "../snapshot/tallies.ts";
import type { Bucket, NameAccount } from "./bucket.ts";
import { StaySum } from "./stay-sum.ts";

/** What is booked of servers, whatever their names, added up in place: there can be millions. */
export interface ServerSums {
  /** Milliseconds of servers. */
  readonly ms: Record<Status, number>;
  unobservedMs: number;
  /** Of servers that were occupied. */
  readonly stays: StaySum;
}

export function emptyServerSums(): ServerSums {
  return { ms: noneByStatus(), unobservedMs: 0, stays: new StaySum() };
}

export function addAccountTo(
  sums: ServerSums,
  { ms, unobservedMs, stays }: Pick<NameAccount, "ms" | "unobservedMs" | "stays">,
): void {
  for (const status of statuses) sums.ms[status] += ms[status];
  sums.unobservedMs += unobservedMs;
  sums.stays.add(stays.occupied);
}

/** A bucket whose names are told of together. */
export interface BucketTotal extends Pick<Bucket, "startMs" | "bookedMs" | "unobservedMs"> {
  /** Adds what it holds of servers. Gives the most that were occupied at a time; null: nobody watched. */
  addTo(sums: ServerSums): number | null;
}

export function totalOfBucket(bucket: Bucket): BucketTotal {
  const { startMs, bookedMs, unobservedMs, extent, names } = bucket;
  return {
    startMs,
    bookedMs,
    unobservedMs,
    addTo(sums) {
      for (const account of names.values()) addAccountTo(sums, account);
      return extent && extent.most.occupied;
    },
  };
}
