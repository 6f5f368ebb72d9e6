import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cleanUp } from "./share.ts";

/** A folder of the test's own, removed when it has finished. */
export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "sandwatch-test-"));
  cleanUp(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
