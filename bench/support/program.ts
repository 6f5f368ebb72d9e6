import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

const root = join(import.meta.dirname, "../..");

/** The program's file in this checkout. */
export const program = join(root, "src/cli.ts");

/** What Node.js is given by the image. */
export const programArguments: readonly string[] = readArguments();

function readArguments(): readonly string[] {
  const [, entry = ""] =
    /^ENTRYPOINT (.+)$/m.exec(readFileSync(join(root, "Dockerfile"), "utf8")) ?? [];
  return z
    .array(z.string())
    .parse(JSON.parse(entry))
    .filter((word) => word.startsWith("--"));
}
