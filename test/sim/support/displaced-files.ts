import { copyFileSync, existsSync, renameSync } from "node:fs";
import type { Dice } from "./dice.ts";

/** What somebody does to a file of the store while a process runs on it. */
export const displacements = [
  "deleted",
  "replaced",
  "without its log",
  "without its index",
] as const;
export type Displacement = (typeof displacements)[number];

const endings: Readonly<Record<Displacement, string>> = {
  deleted: "",
  replaced: "",
  "without its log": "-wal",
  "without its index": "-shm",
};

/** Moves files of the store away and puts them back. */
export interface DisplacedFiles {
  /** Gives what was done; null: there is no such file. */
  displace(path: string, dice: Dice): Displacement | null;
  putBack(): void;
}

/** @param isOverlooked the files stay where they are, as for a process that does not look at them */
export function createDisplacedFiles(isOverlooked: boolean): DisplacedFiles {
  let displaced: string | null = null;
  const away = (file: string): string => `${file}.away`;
  return {
    displace(path, dice) {
      const how = dice.pick<Displacement>(["deleted", ...displacements]);
      const file = path + endings[how];
      if (displaced !== null || !existsSync(file)) return null;
      if (isOverlooked) return how;
      renameSync(file, away(file));
      if (how === "replaced") copyFileSync(away(file), file);
      displaced = file;
      return how;
    },
    putBack() {
      if (displaced !== null) renameSync(away(displaced), displaced);
      displaced = null;
    },
  };
}
