import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, it } from "vitest";

const root = resolve(import.meta.dirname, "../../..");

/** The files of this repository that a file imports, types included. */
function importsOf(file: string): readonly string[] {
  const text = readFileSync(file, "utf8");
  return Array.from(text.matchAll(/(?:from|import\()\s*"(\.[^"]+)"/g), ([, path = ""]) =>
    resolve(dirname(file), path),
  );
}

/** For each file that is reached, the one that imports it. */
function reachedFrom(files: readonly string[]): ReadonlyMap<string, string> {
  const importers = new Map(files.map((file) => [file, file]));
  for (const [file] of importers) {
    for (const imported of importsOf(file)) {
      if (!importers.has(imported)) importers.set(imported, file);
    }
  }
  return importers;
}

describe("the oracle", () => {
  it("shares no code with the product, not even through what it imports", () => {
    const folder = import.meta.dirname;
    const files = readdirSync(folder)
      .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"))
      .map((name) => join(folder, name));
    const reached = reachedFrom(files);
    expect(reached.size).toBeGreaterThan(files.length);
    const product = Array.from(reached)
      .map(([file, importer]) => [relative(root, file), relative(root, importer)])
      .filter(([file]) => file?.startsWith("src/"));
    expect(product).toEqual([]);
  });
});
