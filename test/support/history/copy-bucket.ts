import type { Accounts } from "../../../src/core/occupancy/accounts.ts";
import type { Bucket } from "../../../src/core/occupancy/bucket.ts";

/** As a store gives it back. */
export function copyBucket(bucket: Bucket): Bucket {
  return { ...bucket, names: new Map(bucket.names) };
}

export function copyAccounts(accounts: Accounts): Accounts {
  const copy = (bucket: Bucket | null): Bucket | null => bucket && copyBucket(bucket);
  return { "5m": copy(accounts["5m"]), "1h": copy(accounts["1h"]), "1d": copy(accounts["1d"]) };
}
