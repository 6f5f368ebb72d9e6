/** A process that polls, as the store has it. Times are by the clock of the database, in UTC milliseconds. */
export interface Replica {
  readonly id: string;
  /** Where other replicas reach it. */
  readonly address: string;
  readonly version: string;
  /** The digest of its configuration, and the order in which the digests were first seen. */
  readonly configuration: string;
  readonly generation: number;
  /** Not at first where a newer configuration than its own was in use, and not any more once it is stopping. */
  readonly takesUnits: boolean;
  readonly startedAtMs: number;
  readonly expiresAtMs: number;
}

export interface OwnedUnit {
  readonly name: string;
  /** The id of a replica. */
  readonly replica: string;
  readonly sinceMs: number;
}

/** No lease is longer: one that ends later was renewed by another clock, before a stand-by was promoted. */
export const longestLeaseMs = 5 * 60_000;

/** All replicas and units at one moment. */
export interface ClusterView {
  readonly nowMs: number;
  /** Also those that have expired and that nobody has removed yet. */
  readonly replicas: readonly Replica[];
  readonly units: readonly OwnedUnit[];
}
