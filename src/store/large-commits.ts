import { statSync } from "node:fs";
import { open } from "node:fs/promises";
import { once } from "node:events";
import type { DatabaseSync } from "node:sqlite";
import { Worker } from "node:worker_threads";

/** Keeps the event loop free while much is committed to a database file. */
export interface LargeCommits {
  /** A parameter of a statement was written. */
  written(bytes: number): void;
  /** Right before a transaction is committed. */
  prepare(): Promise<void>;
  /** After a transaction was committed, or was not. */
  ended(): void;
  /** Before the database is closed. */
  settled(): Promise<void>;
}

/** A commit of less waits for the disk for a few milliseconds. */
const largeBytes = 4 * 1024 * 1024;

/** SQLite's own, in pages of its write-ahead log. */
const usualCheckpoint = 1_000;

export interface LogSizes {
  /** Of what was written to a log that a thread takes over: to begin one costs as much as taking over 30 MB. */
  readonly bytes: number;
  /** After so many transactions it does in any case: pages that they changed are not counted. */
  readonly transactions: number;
  /** Of what was written since the log was last known to begin anew: then it is seen to that it does. */
  readonly longest: number;
}

const usualSizes: LogSizes = {
  bytes: 64 * 1024 * 1024,
  transactions: 32,
  longest: 256 * 1024 * 1024,
};

/**
 * A commit waits until its log is on the disk, and SQLite itself then takes the log over into the
 * file and waits for that. Of a large transaction most of the log is written before the commit: that
 * part is brought to the disk without waiting, and a thread takes the log over, once it is long. Neither
 * changes what is safe after a crash: what is in the log without its commit counts as nothing.
 *
 * A log begins anew only once all of it is taken over. Where large commits follow one another, some are
 * added to it while the thread is at work, each time: now and then one takes over what is left and waits
 * for that, or the log would fill the disk.
 */
export function createLargeCommits(
  database: DatabaseSync,
  file: string,
  sizes = usualSizes,
): LargeCommits {
  let bytes = 0;
  let isLarge = false;
  /** Since a large commit whose log was not taken over; null: there is none. */
  let left: Pick<LogSizes, "bytes" | "transactions"> | null = null;
  /** Written since the log was last known to begin anew, and what one that was killed left in it. */
  let logBytes = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  /** Only after a thread has taken most of it over: little is left to wait for. */
  let isRestDue = false;
  let checkpoint: Promise<void> | null = null;

  const takeOver = async (): Promise<void> => {
    left = null;
    try {
      await checkpointInThread(file);
    } catch {
      // The next commit finds the log long, and takes it over itself.
    }
    checkpoint = null;
    isRestDue = logBytes >= sizes.longest;
    if (database.isOpen && !isLarge && !left) setCheckpoint(usualCheckpoint);
  };
  const setCheckpoint = (pages: number): void =>
    database.exec(`pragma wal_autocheckpoint = ${pages}`);
  const takeOverRest = (): void => {
    isRestDue = false;
    try {
      const { log, checkpointed } = database.prepare("pragma wal_checkpoint(passive)").get() ?? {};
      // Someone may still read what was there before: then another turn sees to it.
      if (log === checkpointed) logBytes = 0;
    } catch {
      // What was committed is safe in the log.
    }
  };

  return {
    written(count) {
      bytes += count;
    },
    async prepare() {
      if (bytes < largeBytes) return;
      isLarge = true;
      setCheckpoint(0);
      // SQLite locks the file and the log's index, but never the log: closing it drops no lock.
      await using log = await open(`${file}-wal`, "r+");
      await log.datasync();
    },
    ended() {
      if (isLarge) left ??= { bytes: 0, transactions: 0 };
      if (left) left = { bytes: left.bytes + bytes, transactions: left.transactions + 1 };
      logBytes += bytes;
      bytes = 0;
      isLarge = false;
      if (isRestDue) takeOverRest();
      if (!left || (left.bytes < sizes.bytes && left.transactions < sizes.transactions)) return;
      checkpoint ??= takeOver();
    },
    async settled() {
      await checkpoint;
    },
  };
}

/**
 * What the thread runs: takes the log over as far as nobody reads or writes there. It is a text, as each
 * thread would strip a file of its types anew, which costs as much as to begin it.
 */
const checkpointProgram = `
  const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
  const { workerData } = process.getBuiltinModule("node:worker_threads");
  const database = new DatabaseSync(workerData);
  database.exec("pragma synchronous = full; pragma wal_checkpoint(passive)");
  database.close();
`;

async function checkpointInThread(file: string): Promise<void> {
  const worker = new Worker(checkpointProgram, {
    eval: true,
    workerData: file,
    resourceLimits: { maxYoungGenerationSizeMb: 2 },
  });
  await once(worker, "exit");
}
