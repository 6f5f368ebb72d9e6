import type { ClusterView } from "../fleet/replicas.ts";

/** What a process does for the units that it owns. Calls for one unit never overlap. */
export interface OwnedWork {
  /**
   * Begins to work for units that were claimed. If it rejects, it has begun nothing, and it is called again, for
   * each unit alone. While it runs the lease can end: after each wait it asks whether it still owns the units.
   */
  gain(units: readonly string[]): Promise<void>;
  /** Ends the work for units, after what is in progress was committed. Then they are released. */
  giveUp(units: readonly string[]): Promise<void>;
  /**
   * Another replica may own the units from now on: ends all work without writing. Resolves when nothing is in progress that
   * could still write: only then does this process join again, or begin work again.
   */
  dropAll(): Promise<void>;
}

export interface UnitOwner {
  /** The id of a replica. */
  readonly id: string;
  /** Where other replicas reach it. */
  readonly address: string;
}

/** Which units this process works for. */
export interface Ownership {
  /** Whether this process owns the unit and its lease is held. Also true while it gains or releases the unit. */
  owns(unit: string): boolean;
  /** The replica that owns the unit, as last read. Null: none does at present, or there are no replicas. */
  ownerOf(unit: string): UnitOwner | null;
  /** To be asked before each call, commit and delivery. */
  isHeld(): boolean;
  /** Why the lease could not be renewed the last time. Null: it was, or nothing was tried yet. */
  failure(): unknown;
  /** The units whose work could not begin, which is tried again, and one of the causes. Null: there are none. */
  unbegun(): { readonly units: number; readonly error: unknown } | null;
  view(): OwnershipView;
  /** Without `cluster`, it resolves when all units were gained, and rejects if that fails. */
  start(work: OwnedWork): Promise<void>;
  /** Ends the work for all units and releases them. */
  stop(): Promise<void>;
  /** The store has refused a commit of this process because its replica is not there any more. */
  fenced(): void;
  /** This process has not been able to write for as long as a lease. Others may be. */
  unwritable(): void;
}

export interface OwnershipView {
  /** The id of this replica. Null: it has none at present. */
  readonly replica: string | null;
  /** The units that this process owns. */
  readonly units: readonly string[];
  /** 0: the lease is not held. Null: there are no leases. */
  readonly leaseRemainingMs: number | null;
  /** All replicas and units as last read. Null: there are none, or nothing was read yet. */
  readonly cluster: ClusterView | null;
}

/** For a process without `cluster`, which owns everything from the start. */
export function soleOwner(units: readonly string[]): Ownership {
  let work: OwnedWork | null = null;
  return {
    owns: () => true,
    ownerOf: () => null,
    isHeld: () => true,
    failure: () => null,
    unbegun: () => null,
    view: () => ({ replica: null, units, leaseRemainingMs: null, cluster: null }),
    async start(started) {
      work = started;
      await started.gain(units);
    },
    async stop() {
      await work?.giveUp(units);
      work = null;
    },
    fenced() {},
    unwritable() {},
  };
}
