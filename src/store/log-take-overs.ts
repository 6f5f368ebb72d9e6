import { once } from "node:events";
import { statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { Worker } from "node:worker_threads";

/** Moves what is committed from a database's log into its file, off the main thread. */
export interface LogTakeOvers {
  /** A transaction was committed, with parameters of so many bytes. */
  count(bytes: number): void;
  /**
   * All of it at once, and makes the log empty, while nobody writes.
   *
   * @throws when somebody reads of the log, or the disk fails
   */
  empty(): Promise<void>;
  /** Once none is under way. */
  settled(): Promise<void>;
}

export interface LogSizes {
  /** Of what was written to a log that is taken over: to begin a thread costs as much as taking over 30 MB. */
  readonly bytes: number;
  /** After so many transactions it is in any case: pages that they changed are not counted. */
  readonly transactions: number;
}

const usualSizes: LogSizes = { bytes: 64 * 1024 * 1024, transactions: 128 };

/**
 * By itself SQLite takes its log over at a commit, now and then, and waits for the disk, in the way of
 * everything else. Here a thread does: first of what is there while others write on, and then, in its turn as a
 * writer, of what came meanwhile. Then nothing is left, so that the log begins anew instead of growing; the
 * thread writes the first page of that, as SQLite waits for the disk there, too.
 *
 * @param database does not take its log over by itself from now on
 * @param takeTurn lets nobody else write before what it was given has ended
 */
export function createLogTakeOvers(
  database: DatabaseSync,
  takeTurn: (work: () => Promise<void>) => Promise<void>,
  sizes = usualSizes,
): LogTakeOvers {
  const file = database.location() ?? "";
  let transactions = 0;
  /** With what one that was killed left in it. */
  let bytes = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  let takingOver: Promise<void> | null = null;

  const takeOver = async (): Promise<void> => {
    bytes = 0;
    transactions = 0;
    try {
      await using thread = startThread(file);
      await thread.ask("most");
      await takeTurn(() => thread.ask("rest"));
    } catch {
      // What was committed is safe in the log; here all waits for it, but the log must not fill the disk.
      await takeTurn(async () => takeOverHere(database)).catch(() => {});
    }
    takingOver = null;
  };

  database.exec("pragma wal_autocheckpoint = 0");
  return {
    count(more) {
      bytes += more;
      transactions += 1;
      const isDue = bytes >= sizes.bytes || transactions >= sizes.transactions;
      if (isDue && database.isOpen) takingOver ??= takeOver();
    },
    async empty() {
      await using thread = startThread(file);
      await thread.ask("all");
    },
    async settled() {
      await takingOver;
    },
  };
}

function takeOverHere(database: DatabaseSync): void {
  if (database.isOpen) database.exec("pragma wal_checkpoint(passive)");
}

/**
 * What the thread runs. It is a text, as each thread would strip a file of its types anew, which costs as much as
 * to begin it. It creates no file: one that was moved away is not its to replace.
 */
const threadProgram = `
  const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
  const { pathToFileURL } = process.getBuiltinModule("node:url");
  const { parentPort, workerData } = process.getBuiltinModule("node:worker_threads");
  const address = pathToFileURL(workerData);
  address.searchParams.set("mode", "rw");
  const database = new DatabaseSync(address);
  database.exec("pragma synchronous = full; pragma wal_autocheckpoint = 0");
  const checkpoint = (mode) => database.prepare("pragma wal_checkpoint(" + mode + ")").get();
  const steps = {
    most: () => checkpoint("passive"),
    rest() {
      const { log, checkpointed } = checkpoint("passive");
      if (log !== checkpointed) return;
      const { application_id: same } = database.prepare("pragma application_id").get();
      database.exec("pragma application_id = " + same);
    },
    all() {
      if (checkpoint("truncate").busy !== 0) throw new Error("the log is being read");
    },
  };
  parentPort.on("message", (step) => {
    steps[step]();
    parentPort.postMessage(step);
  });
`;

interface Thread extends AsyncDisposable {
  /** @throws what ended the thread */
  ask(step: "most" | "rest" | "all"): Promise<void>;
}

function startThread(file: string): Thread {
  const worker = new Worker(threadProgram, {
    eval: true,
    workerData: file,
    resourceLimits: { maxYoungGenerationSizeMb: 2 },
  });
  const ended = once(worker, "exit").then(() => {
    throw new Error("the thread ended");
  });
  ended.catch(() => {});
  return {
    async ask(step) {
      worker.postMessage(step, []);
      await Promise.race([once(worker, "message"), ended]);
    },
    async [Symbol.asyncDispose]() {
      await worker.terminate();
    },
  };
}
