import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder that is removed at the end of the block that holds it. */
export interface TempFolder extends Disposable {
  readonly path: string;
}

export function tempFolder(): TempFolder {
  const path = mkdtempSync(join(tmpdir(), "sandwatch-bench-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}
