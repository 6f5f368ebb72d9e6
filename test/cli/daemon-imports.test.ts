import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const root = join(import.meta.dirname, "../../src");

it("only run and demo start a daemon", () => {
  const importers = globSync("**/*.ts", { cwd: root }).filter((file) =>
    /from "[./]+\/daemon\.ts"/.test(readFileSync(join(root, file), "utf8")),
  );
  expect(importers.toSorted()).toEqual(["cli/demo.ts", "cli/run.ts"]);
});
