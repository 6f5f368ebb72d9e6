import type { ClusterView } from "../fleet/replicas.ts";

/** The part of the store that membership needs. Each method rejects when the database cannot be reached. */
export interface ReplicaStore {
  /**
   * Adds this process under a new id, which it gives. From then on its commits are made under that id, and what it owned
   * under another id is free. It takes units at once if its configuration is the newest that there was.
   */
  join(replica: {
    readonly address: string;
    readonly version: string;
    readonly configuration: string;
    readonly leaseMs: number;
  }): Promise<string>;
  /**
   * Renews the lease. Null: the lease has ended, the replica was removed, or the store is of another version. It must join
   * again.
   */
  renew(leaseMs: number): Promise<ClusterView | null>;
  /**
   * Removes the replicas whose lease has ended, and waits for their transactions in progress. Then takes those of the units
   * that no live replica owns: none while this replica takes none, or while one that takes units has a newer configuration.
   */
  claim(units: readonly string[]): Promise<{
    /** With those that it owned already. */
    readonly claimed: readonly string[];
    /** Those of them that a replica owned whose lease has ended. */
    readonly takenOver: readonly string[];
  }>;
  release(units: readonly string[]): Promise<void>;
  /** Whether units fall to this process. */
  takeUnits(takes: boolean): Promise<void>;
  /** Releases all units and removes the replica. */
  leave(): Promise<void>;
  /** Called with each topic that any replica notifies, this one too, and with `everything` when notices may have been missed. */
  onNotice(listener: (topic: string) => void): void;
  notice(topic: string): Promise<void>;
  /** Everything else that waits for an answer of the database fails at once. */
  interrupt(): void;
}
