import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "rolldown";
import type { TestProject } from "vitest/node";
import { builtFolder, compileAssets } from "../../src/web/assets.ts";

const root = join(import.meta.dirname, "../..");

const input = { cli: join(root, "src/cli.js"), victim: join(root, "test/crash/victim.ts") };

/**
 * Bundles the programs that tests start as processes of their own: 1,500 modules take a second to load, and one file a fifth
 * of that. `programOf` in sandwatch-process.ts gives their paths. The folder is within the checkout, so that the packages
 * that a program looks up by their names are found.
 */
export async function setup(project: TestProject): Promise<() => void> {
  const parent = join(root, ".vitest");
  mkdirSync(parent, { recursive: true });
  const folder = mkdtempSync(join(parent, "programs-"));
  const bundle = async (): Promise<void> => {
    await build({ input, platform: "node", logLevel: "warn", output: { dir: folder } });
    mkdirSync(join(folder, builtFolder), { recursive: true });
    for (const [name, source] of compileAssets()) {
      writeFileSync(join(folder, builtFolder, name), source);
    }
  };
  await bundle();
  project.onTestsRerun(bundle);
  process.env["TEST_PROGRAMS"] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
