import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

const dockerfile = join(import.meta.dirname, "../../Dockerfile");

/** What Node.js is given by the image. */
export const imageArguments: readonly string[] = readArguments();

function readArguments(): readonly string[] {
  const [, entry = ""] = /^ENTRYPOINT (.+)$/m.exec(readFileSync(dockerfile, "utf8")) ?? [];
  return z
    .array(z.string())
    .parse(JSON.parse(entry))
    .filter((word) => word.startsWith("--"));
}
