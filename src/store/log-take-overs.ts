import { once } from "node:events";
import type { DatabaseSync } from "node:sqlite";
import { Worker } from "node:worker_threads";

/** Moves what is committed from a database's log into its file, off the main thread. */
export interface LogTakeOvers {
  /** @param logBytes of what is in the log, since it last began anew */
  consider(logBytes: number): void;
  /** Once none is under way. */
  settled(): Promise<void>;
}

/** Of what was added to a log that is taken over: to begin a thread costs as much as taking over 30 MB. */
const usualBytes = 64 * 1024 * 1024;

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
  mostBytes = usualBytes,
): LogTakeOvers {
  let seenBytes = 0;
  /** While somebody reads of the log it does not begin anew. */
  let leftBytes = 0;
  let takingOver: Promise<void> | null = null;

  const takeOver = async (): Promise<void> => {
    try {
      await using thread = startThread(database.location() ?? "");
      await thread.ask("most");
      await takeTurn(() => thread.ask("rest"));
    } catch {
      // What was committed is safe in the log; here all waits for it, but the log must not fill the disk.
      await takeTurn(async () => takeOverHere(database)).catch(() => {});
    }
    leftBytes = seenBytes;
    takingOver = null;
  };

  database.exec("pragma wal_autocheckpoint = 0");
  return {
    consider(logBytes) {
      if (logBytes < seenBytes) leftBytes = 0;
      seenBytes = logBytes;
      if (logBytes - leftBytes >= mostBytes && database.isOpen) takingOver ??= takeOver();
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
  // What a very large transaction made longer gets shorter again.
  database.exec("pragma journal_size_limit = 134217728");
  const checkpoint = () => database.prepare("pragma wal_checkpoint(passive)").get();
  const steps = {
    most: checkpoint,
    rest() {
      const { log, checkpointed } = checkpoint();
      if (log !== checkpointed) return;
      const { application_id: same } = database.prepare("pragma application_id").get();
      database.exec("pragma application_id = " + same);
    },
  };
  parentPort.on("message", (step) => {
    steps[step]();
    parentPort.postMessage(step);
  });
`;

interface Thread extends AsyncDisposable {
  /** @throws what ended the thread */
  ask(step: "most" | "rest"): Promise<void>;
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
