import { existsSync, realpathSync } from "node:fs";
import { resolve } from "node:path";
import { inMemory } from "./database.ts";
import { isLocked } from "./file-lock.ts";
import { asStoreError } from "../store-error.ts";

/**
 * Whether a sandwatch runs on the store. Nothing is written, and nothing made where there is none.
 *
 * @throws {StoreError} when that cannot be told
 */
export function isStoreInUse(path: string): boolean {
  if (path === inMemory) return false;
  const file = resolve(path);
  try {
    return isLocked(existsSync(file) ? realpathSync(file) : file);
  } catch (error) {
    throw asStoreError(error, file);
  }
}
