import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";

const execute = promisify(execFile);

/** Kept between runs, because most of the time goes into it. */
export const engineFolder = process.env["SANDWATCH_DEPLOY_FOLDER"] ?? "/var/tmp/sandwatch-deploy";

export const root = join(import.meta.dirname, "../../..");

/** Files for containers. */
export const filesFolder = join(engineFolder, "files");

/** Where the engine sees them. */
export const seen = { files: "/folder/files", context: "/folder/context", root: "/repository" };

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a program in the engine's file system. */
async function runInEngine(args: readonly string[]): Promise<Ran> {
  const pid = readFileSync(join(engineFolder, "pid"), "utf8").trim();
  const enter = ["--target", pid, "--mount", "--root", "--wd=/"];
  try {
    const { stdout, stderr } = await execute("nsenter", [...enter, ...args], {
      maxBuffer: 2 ** 26,
      timeout: 20 * 60_000,
    });
    return { code: 0, out: stdout, err: stderr };
  } catch (error) {
    const { code, stdout = "", stderr = "" }: Partial<Record<string, string>> = Object(error);
    return { code: Number(code ?? 1), out: stdout, err: stderr };
  }
}

/** Also where it fails. */
export const tryDocker = (...args: readonly string[]): Promise<Ran> =>
  runInEngine(["docker", ...args]);

/** @returns the standard output. Rejects where the command fails */
export async function docker(...args: readonly string[]): Promise<string> {
  const { code, out, err } = await tryDocker(...args);
  if (code === 0) return out;
  throw new Error(`docker ${args.join(" ")} failed (${code}):\n${out}\n${err}`);
}

/** @param commands of a shell in a container, which all have to succeed */
export const shell = (container: string, commands: string): Promise<string> =>
  docker("exec", container, "bash", "-euc", commands);

/** Asks until the answer matches. */
export async function untilMatches(
  what: string,
  pattern: RegExp,
  ask: () => Promise<string>,
  longestMs = 120_000,
): Promise<string> {
  const endMs = performance.now() + longestMs;
  for (let last = ""; ; await setTimeout(500)) {
    try {
      last = await ask();
    } catch (error) {
      last = String(error);
    }
    if (pattern.test(last)) return last;
    if (performance.now() > endMs) throw new Error(`never: ${what}; at last:\n${last}`);
  }
}
