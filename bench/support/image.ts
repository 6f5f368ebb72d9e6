import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

const dockerfile = readFileSync(join(import.meta.dirname, "../../Dockerfile"), "utf8");

/** What Node.js is given by the image. */
export const imageArguments: readonly string[] = readArguments();

/** What the image says to malloc. */
export const imageEnvironment: Readonly<Record<string, string>> = Object.fromEntries(
  Array.from(dockerfile.matchAll(/^ENV (MALLOC_\w+)=(.+)$/gm), ([, name = "", value = ""]) => [
    name,
    value,
  ]),
);

function readArguments(): readonly string[] {
  const [, entry = ""] = /^ENTRYPOINT (.+)$/m.exec(dockerfile) ?? [];
  return z
    .array(z.string())
    .parse(JSON.parse(entry))
    .filter((word) => word.startsWith("--"));
}
