import { once } from "node:events";
import { closeSync, fdatasync, openSync, statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { Worker } from "node:worker_threads";

/** Keeps the event loop free while the disk takes what is committed to a database file. */
export interface CommitWaits {
  /** Right before a transaction begins. */
  begins(): void;
  /** A parameter of a statement was written. */
  written(bytes: number): void;
  /** Right before a transaction is committed. */
  prepare(): void;
  /** After a transaction was committed. Resolves once that is on the disk. */
  committed(): Promise<void>;
  /** After a transaction came to nothing. */
  rolledBack(): void;
  /** Before the database is closed. */
  settled(): Promise<void>;
}

/** Of so large a transaction SQLite itself must not take the log over, however long it makes it. */
const largeBytes = 4 * 1024 * 1024;

/** In pages of the write-ahead log. SQLite's own 1,000 would be due before a thread is. */
const usualCheckpoint = 16_000;

export interface LogSizes {
  /** Of what was written to a log that a thread takes over: to begin one costs as much as taking over 30 MB. */
  readonly bytes: number;
  /** After so many transactions it does in any case: pages that they changed are not counted. */
  readonly transactions: number;
  /** The same, where a large one is among them. */
  readonly transactionsOfLarge: number;
  /** Of what was written since the log was last known to begin anew: then it is seen to that it does. */
  readonly longest: number;
}

const usualSizes: LogSizes = {
  bytes: 64 * 1024 * 1024,
  transactions: 128,
  transactionsOfLarge: 32,
  longest: 256 * 1024 * 1024,
};

export interface CommitWaitsOptions {
  readonly sizes?: LogSizes;
  /** Brings what was written of an open file to the disk. */
  readonly sync?: (descriptor: number) => Promise<void>;
}

/**
 * By itself SQLite waits at each commit until its log is on the disk, and now and then takes the log over
 * into the file and waits for that, in the way of everything else. So a transaction is committed to the log
 * without waiting, which is then brought to the disk from outside, before anybody is told that it was
 * committed; and a thread takes the log over. Neither changes what is safe after a crash: of what is in the log, what
 * did not reach the disk whole counts as nothing. What is written outside a transaction waits as before.
 *
 * A log begins anew only once all of it is taken over. Where large commits follow one another, some are
 * added to it while the thread is at work, each time: now and then one takes over what is left and waits
 * for that, or the log would fill the disk.
 */
export function createCommitWaits(
  database: DatabaseSync,
  file: string,
  { sizes = usualSizes, sync = promisify(fdatasync) }: CommitWaitsOptions = {},
): CommitWaits {
  let bytes = 0;
  let isLarge = false;
  /** Since a thread began to take the log over. */
  let left = nothingLeft;
  /** Written since the log was last known to begin anew, and what one that was killed left in it. */
  let logBytes = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  /** Only after a thread has taken most of it over: little is left to wait for. */
  let isRestDue = false;
  let checkpoint: Promise<void> | null = null;
  let log: number | null = null;
  /** Whether SQLite does not wait for the disk. */
  let isRelaxed = false;
  /** A disk that failed is SQLite's to wait for: it makes the commit fail. */
  let mayRelax = true;

  const takeOver = async (): Promise<void> => {
    left = nothingLeft;
    try {
      await checkpointInThread(file);
    } catch {
      // The next commits find the log long, and SQLite takes it over itself.
    }
    checkpoint = null;
    isRestDue = logBytes >= sizes.longest;
    if (database.isOpen && !isLarge && !left.hasLarge) setCheckpoint(usualCheckpoint);
  };
  const setCheckpoint = (pages: number): void =>
    database.exec(`pragma wal_autocheckpoint = ${pages}`);
  const takeOverRest = (): void => {
    isRestDue = false;
    try {
      const { log: logged, checkpointed } =
        database.prepare("pragma wal_checkpoint(passive)").get() ?? {};
      // Someone may still read what was there before: then another turn sees to it.
      if (logged === checkpointed) logBytes = 0;
    } catch {
      // What was committed is safe in the log.
    }
  };
  /** SQLite locks the file and the log's index, but never the log: closing it drops no lock. */
  const syncLog = async (): Promise<void> => {
    try {
      log ??= openSync(`${file}-wal`, "r+");
      await sync(log);
    } catch {
      mayRelax = false;
    }
  };
  const waitAgain = (): void => {
    if (isRelaxed && database.isOpen) database.exec("pragma synchronous = full");
    isRelaxed = false;
  };
  const count = (): void => {
    const { transactions, hasLarge } = left;
    left = {
      bytes: left.bytes + bytes,
      transactions: transactions + 1,
      hasLarge: hasLarge || isLarge,
    };
    logBytes += bytes;
    bytes = 0;
    isLarge = false;
    if (isRestDue) takeOverRest();
    const most = left.hasLarge ? sizes.transactionsOfLarge : sizes.transactions;
    if (left.bytes >= sizes.bytes || left.transactions >= most) checkpoint ??= takeOver();
  };

  // A statement that is kept tells what was so when it was prepared.
  const waitsForDisk = (): boolean =>
    database.prepare("pragma synchronous").get()?.["synchronous"] === 2;

  setCheckpoint(usualCheckpoint);
  return {
    begins() {
      if (!mayRelax || isRelaxed || !waitsForDisk()) return;
      database.exec("pragma synchronous = normal");
      isRelaxed = true;
    },
    written(more) {
      bytes += more;
    },
    prepare() {
      if (bytes < largeBytes) return;
      isLarge = true;
      setCheckpoint(0);
    },
    async committed() {
      if (isRelaxed) await syncLog();
      waitAgain();
      count();
    },
    rolledBack() {
      waitAgain();
      count();
    },
    async settled() {
      await checkpoint;
      if (log !== null) closeSync(log);
      log = null;
    },
  };
}

const nothingLeft = { bytes: 0, transactions: 0, hasLarge: false };

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
