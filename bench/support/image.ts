import { readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";

const dockerfile = readFileSync(join(import.meta.dirname, "../../Dockerfile"), "utf8");

/** What Node.js is given by the image. */
export const imageArguments: readonly string[] = readArguments();

/**
 * What the image says to malloc and to Node.js.
 *
 * @param data stands for the image's folder `/data`
 */
export function imageEnvironment(data: string): Readonly<Record<string, string>> {
  const settings = dockerfile.matchAll(/^ENV ((?:MALLOC|NODE_COMPILE)_\w+)=(.+)$/gm);
  return Object.fromEntries(
    Array.from(settings, ([, name = "", value = ""]) => [name, value.replace(/^\/data\b/, data)]),
  );
}

function readArguments(): readonly string[] {
  const [, entry = ""] = /^ENTRYPOINT (.+)$/m.exec(dockerfile) ?? [];
  return z
    .array(z.string())
    .parse(JSON.parse(entry))
    .filter((word) => word.startsWith("--"));
}
