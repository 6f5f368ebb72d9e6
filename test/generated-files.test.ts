import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { generatedFiles } from "../generate/generated-files.ts";

it.each([...generatedFiles])("%s is what `npm run generate` makes", async (path, text) => {
  expect(readFileSync(join(import.meta.dirname, "..", path), "utf8")).toBe(await text());
});
