/** A process that polls, as the store has it. Times are by the clock of the database, in UTC milliseconds. */
export interface Replica {
  readonly id: string;
  /** Where other replicas reach it. */
  readonly address: string;
  readonly version: string;
  /** The digest of its configuration, and the order in which the digests were first seen. */
  readonly configuration: string;
  readonly generation: number;
  readonly startedAtMs: number;
  readonly expiresAtMs: number;
}

export interface OwnedUnit {
  readonly name: string;
  /** The id of a replica. */
  readonly replica: string;
  readonly sinceMs: number;
}

/** All replicas and units at one moment. */
export interface ClusterView {
  readonly nowMs: number;
  /** Also those that have expired and that nobody has removed yet. */
  readonly replicas: readonly Replica[];
  readonly units: readonly OwnedUnit[];
}

/** The part of the store that membership needs. Each method rejects when the database cannot be reached. */
export interface ReplicaStore {
  /** Adds this process under a new id, which it gives. From then on its commits are made under that id. */
  join(replica: {
    readonly address: string;
    readonly version: string;
    readonly configuration: string;
    readonly leaseMs: number;
  }): Promise<string>;
  /** Renews the lease. Null: it has ended, or the replica is not there any more. */
  renew(leaseMs: number): Promise<ClusterView | null>;
  /** Removes the replicas that have expired, then takes those of the units that no live replica owns. */
  claim(units: readonly string[]): Promise<{
    readonly claimed: readonly string[];
    /** Those of them that a replica owned which has expired. */
    readonly takenOver: readonly string[];
  }>;
  release(units: readonly string[]): Promise<void>;
  /** Releases all units and removes the replica. */
  leave(): Promise<void>;
  /** Called with a topic that a replica has notified, and with `everything` when notices may have been missed. */
  onNotice(listener: (topic: string) => void): void;
  notice(topic: string): Promise<void>;
  /** What else this process reads and writes at present fails at once, rather than when it is known that no answer comes. */
  interrupt(): void;
}
