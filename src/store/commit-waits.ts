import { closeSync, fdatasync, openSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";

/** Keeps the event loop free while the disk takes what is committed to a database file. */
export interface CommitWaits {
  /** A parameter of a statement was written. */
  written(bytes: number): void;
  /** After a statement. Resolves once all that was committed with it is on the disk. */
  afterStatement(): Promise<void>;
  /** After a transaction came to nothing. */
  rolledBack(): void;
  /** Resolves once what was committed until now is on the disk. Rejects while that fails. */
  onDisk(): Promise<void>;
  /** @throws what the disk failed with, while it fails */
  check(): void;
  /** Right before the database is closed. */
  close(): void;
}

export interface CommitWaitsOptions {
  /** Brings what was written of an open file to the disk. */
  readonly sync?: (descriptor: number) => Promise<void>;
  /** How long to wait for a disk that failed, before it is asked once more. */
  readonly patienceMs?: number;
  /** Once for each time that it fails, however often it is asked until it does not. */
  readonly onDiskFailure?: (error: unknown) => void;
}

export interface CommitWaitsParts extends CommitWaitsOptions {
  /** Bytes of the parameters that were written. */
  readonly onCommit: (bytes: number) => void;
  /**
   * Brings all that is committed into the database's file, and that to the disk, from a connection of its
   * own. Rejects while it can not.
   */
  readonly empty: () => Promise<void>;
}

/**
 * By itself SQLite waits at each commit until its log is on the disk, in the way of everything else. So it
 * commits without waiting, the log is then brought to the disk from outside, and only then is anybody told that
 * it was committed. Meanwhile the writer's connection is held: nothing else is written behind what may not be there.
 * What is in the log and did not reach the disk whole counts as nothing after a crash of the machine.
 *
 * Of a log that the disk refused nobody knows what is on it, and it can not be asked for that once more: Linux
 * calls what it could not write written. So all of it is written again, to another place: into the
 * database's file. Until that is done nothing counts as committed, and nothing else is.
 *
 * @param database its log is there, and nobody else writes what must not be lost
 */
export function createCommitWaits(
  database: DatabaseSync,
  {
    onCommit,
    empty,
    sync = promisify(fdatasync),
    patienceMs = 1_000,
    onDiskFailure,
  }: CommitWaitsParts,
): CommitWaits {
  const selectWritten = database.prepare("select total_changes() as rows");
  const rowsWritten = (): unknown => selectWritten.get()?.["rows"];
  // SQLite locks the file and the log's index, but never the log: to close it drops no lock.
  const log = openSync(`${database.location()}-wal`, "r+");
  let bytes = 0;
  let rowsOnDisk = rowsWritten();
  /** Rejected until what the disk refused is on it after all. */
  let syncing: Promise<void> | null = null;
  let failure: { readonly error: unknown } | null = null;

  const writeAgain = async (): Promise<void> => {
    for (;;) {
      try {
        return await empty();
      } catch {
        await setTimeout(patienceMs);
      }
    }
  };
  const bringToDisk = async (): Promise<void> => {
    syncing = sync(log);
    try {
      await syncing;
    } catch (error) {
      failure = { error };
      onDiskFailure?.(error);
      await writeAgain();
      failure = null;
    }
    syncing = null;
  };

  database.exec("pragma synchronous = normal");
  return {
    written(more) {
      bytes += more;
    },
    async afterStatement() {
      if (database.isTransaction) return;
      const rows = rowsWritten();
      if (rows === rowsOnDisk) return;
      await bringToDisk();
      rowsOnDisk = rows;
      onCommit(bytes);
      bytes = 0;
    },
    rolledBack() {
      rowsOnDisk = rowsWritten();
      bytes = 0;
    },
    async onDisk() {
      await syncing;
    },
    check() {
      if (failure) throw failure.error;
    },
    close() {
      closeSync(log);
    },
  };
}
