import { statSync } from "node:fs";
import { StoreError } from "../store-error.ts";

/** The files of an open store, as they are found by their names. */
export interface StoreFiles {
  /**
   * From the first time that one of them is gone or another one, it throws for good: what was written
   * since may be in files that nobody finds any more.
   *
   * @throws {StoreError}
   */
  check(): void;
  /** The same without looking again. */
  checkLast(): void;
}

/** @param onReplaced called once */
export function watchStoreFiles(
  file: string,
  onReplaced: (error: StoreError) => void = () => {},
): StoreFiles {
  const watched = [file, `${file}-wal`, `${file}-shm`].map((path) => ({ path, id: idOf(path) }));
  let replaced: StoreError | null = null;
  const checkLast = (): void => {
    if (replaced) throw replaced;
  };
  return {
    check() {
      checkLast();
      const other = watched.find(({ path, id }) => idOf(path) !== id);
      if (!other) return;
      replaced = new StoreError(
        `${other.path} was deleted or replaced while sandwatch runs on it: nothing is stored any more. Stop sandwatch, put the store back or move it away to start with an empty one, and start sandwatch again.`,
      );
      onReplaced(replaced);
      throw replaced;
    },
    checkLast,
  };
}

/** Null: there is none, or it cannot be looked at. */
function idOf(path: string): string | null {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return null;
  }
}
