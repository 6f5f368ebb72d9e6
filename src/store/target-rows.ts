import type { Db, Tables } from "./tables.ts";

/** What a commit about a target writes into its row. */
export interface TargetWrite {
  readonly id: number;
  /** As it was read with the target's state, or last committed by this process. Another version is that of another writer. */
  readonly version: number;
  /** Null: nothing but the next version, as outside polls. */
  readonly columns: PolledColumns | null;
}

/** All that a poll writes but for its version. */
export type PolledColumns = Omit<
  Tables["targets"],
  "id" | "region" | "key" | "version" | "snapshot_version"
> & {
  /** Undefined: the snapshot was not written. */
  readonly snapshot_version?: number | undefined;
};

/**
 * Writes rows of targets. Their versions are the fence: what another process has written since it was read is left as it is.
 *
 * @returns the ids of those that were written
 */
export async function writeTargets(
  trx: Db,
  writes: readonly TargetWrite[],
): Promise<ReadonlySet<number>> {
  const written = new Set<number>();
  for (const { id, version, columns } of writes) {
    const { numUpdatedRows } = await trx
      .updateTable("targets")
      .set({ ...columns, version: version + 1 })
      .where("id", "=", id)
      .where("version", "=", version)
      .executeTakeFirst();
    if (numUpdatedRows === 1n) written.add(id);
  }
  return written;
}
