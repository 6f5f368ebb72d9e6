import { setTimeout } from "node:timers/promises";
import { StoreError } from "./store-error.ts";
import type { LogView, WriteAheadLog } from "./write-ahead-log.ts";

/** Keeps the event loop free while the disk takes what is committed to a database file. */
export interface CommitWaits {
  /**
   * After a statement of the writer, which is held meanwhile. Resolves once what it committed is on the
   * disk, with whether it committed anything.
   */
  settle(): Promise<boolean>;
  /** Resolves once what was committed until now is on the disk. Rejects while that fails. */
  onDisk(): Promise<void>;
  /** @throws what the disk failed with, while it fails */
  check(): void;
  /** From now on nothing waits for a disk that does not take what was committed: it rejects. */
  giveUp(): void;
  /** Why what was committed last may not be on the disk; null: it is. */
  readonly lost: StoreError | null;
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
  let isGivenUp = false;
  /** While something waits for the disk: ends that. */
  let endWait: ((error: StoreError) => void) | null = null;
  /** What was committed last was given up. */
  let lost: StoreError | null = null;
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
        if (isGivenUp) throw error;
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
      if (view.change === onDisk) return false;
      if (lost) throw lost;
      const waiting = Promise.withResolvers<void>();
      endWait = waiting.reject;
      bringToDisk().then(waiting.resolve, waiting.reject);
      await waiting.promise.finally(() => (endWait = null));
      onDisk = view.change;
      onCommit?.(view);
      return true;
    },
    async onDisk() {
      await syncing;
    },
    check() {
      if (failure) throw failure.error;
    },
    get lost() {
      return lost;
    },
    giveUp() {
      isGivenUp = true;
      if (!endWait) return;
      lost = new StoreError(
        "The disk did not take what was committed last, and sandwatch stops without waiting for it any longer. See to the disk. What was not stored was notified to nobody.",
        { cause: failure?.error },
      );
      endWait(lost);
    },
  };
}
