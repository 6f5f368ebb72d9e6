import type { ClusterView } from "../fleet/replicas.ts";

/** The part of the store that membership needs. Each method rejects when the database cannot be reached. */
export interface ReplicaStore {
  /**
   * Adds this process under a new id, which it gives. From then on its commits are made under that id. It takes units at once
   * if its configuration is the newest that there was.
   */
  join(replica: {
    readonly address: string;
    readonly version: string;
    readonly configuration: string;
    readonly leaseMs: number;
  }): Promise<string>;
  /** Renews the lease. Null: it has ended, or the replica is not there any more. */
  renew(leaseMs: number): Promise<ClusterView | null>;
  /**
   * Removes the replicas that have expired, then takes those of the units that no live replica owns. None while it takes none,
   * or while a live replica that has a newer configuration does.
   */
  claim(units: readonly string[]): Promise<{
    readonly claimed: readonly string[];
    /** Those of them that a replica owned which has expired. */
    readonly takenOver: readonly string[];
  }>;
  release(units: readonly string[]): Promise<void>;
  /** Whether units fall to this process. */
  takeUnits(takes: boolean): Promise<void>;
  /** Releases all units and removes the replica. */
  leave(): Promise<void>;
  /** Called with a topic that a replica has notified, and with `everything` when notices may have been missed. */
  onNotice(listener: (topic: string) => void): void;
  notice(topic: string): Promise<void>;
  /** What else this process reads and writes at present fails at once, rather than when it is known that no answer comes. */
  interrupt(): void;
}
