import { setTimeout } from "node:timers/promises";
import type { LogView, WriteAheadLog } from "./write-ahead-log.ts";

/** Keeps the event loop free while the disk takes what is committed to a database file. */
export interface CommitWaits {
  /** After a statement of the writer, which is held meanwhile. Resolves once what it committed is on the disk. */
  settle(): Promise<void>;
  /** Resolves once what was committed until now is on the disk. Rejects while that fails. */
  onDisk(): Promise<void>;
  /** @throws what the disk failed with, while it fails */
  check(): void;
}

export interface CommitWaitsOptions {
  /** How long to wait for a disk that failed, before it is asked once more. */
  readonly patienceMs?: number;
  /** Each time that it fails with something else than it did. */
  readonly onDiskFailure?: (error: unknown) => void;
  readonly onCommit?: (log: LogView) => void;
}

/**
 * By itself SQLite waits at each commit until its log is on the disk, in the way of everything else. So it is told
 * not to, the log is then brought to the disk from outside, and only then is anybody told that something was
 * committed. Meanwhile the writer is held: nothing is written behind what may not be there. What of the log did not
 * reach the disk whole counts as nothing after a crash of the machine.
 *
 * Of a log that the disk refused nobody knows what is on it, and to ask once more is no help: Linux calls what it
 * could not write written. So it is written again. Until the disk has it nothing counts as committed.
 */
export function createCommitWaits(
  log: WriteAheadLog,
  { patienceMs = 1_000, onDiskFailure, onCommit }: CommitWaitsOptions = {},
): CommitWaits {
  let onDisk = log.look().change;
  /** Rejected until what the disk refused is on it after all. */
  let syncing: Promise<void> | null = null;
  let failure: { readonly error: unknown } | null = null;

  const fail = (error: unknown): void => {
    if (failure === null || String(failure.error) !== String(error)) onDiskFailure?.(error);
    failure = { error };
  };
  const writeAgain = async (): Promise<void> => {
    for (;;) {
      try {
        await log.rewrite();
        await log.sync();
        return;
      } catch (error) {
        fail(error);
        await setTimeout(patienceMs);
      }
    }
  };
  const bringToDisk = async (): Promise<void> => {
    syncing = log.sync();
    try {
      await syncing;
    } catch (error) {
      fail(error);
      await writeAgain();
      failure = null;
    }
    syncing = null;
  };

  return {
    async settle() {
      const view = log.look();
      if (view.change === onDisk) return;
      await bringToDisk();
      onDisk = view.change;
      onCommit?.(view);
    },
    async onDisk() {
      await syncing;
    },
    check() {
      if (failure) throw failure.error;
    },
  };
}
