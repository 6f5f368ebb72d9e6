import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { startDaemonProcess } from "./daemon-process.ts";
import type { DaemonOptions, DaemonProcess } from "./daemon-process.ts";
import { peakMemoryBytes } from "./meters.ts";

const root = join(import.meta.dirname, "../..");
const runFile = promisify(execFile);

/** What running the program once took, from being spawned to its end. */
export interface Took {
  readonly elapsedMs: number;
  readonly bytes: number;
  /** The most memory that was resident at a time. */
  readonly peakBytes: number;
}

export interface BuiltProgram {
  readonly path: string;
  /** Runs it to its end, and drops what it prints. */
  run(args: readonly string[]): Promise<Took>;
  /** Runs it as a daemon, as the image does. */
  startDaemon(options: DaemonOptions): DaemonProcess;
}

/** What a process tells of itself when it ends. */
const confess = [
  peakMemoryBytes,
  "process.on('exit', () => process.stderr.write(`\\n${peakMemoryBytes()}`));",
].join("\n");

/**
 * Builds the program as it is published: run from its sources, it would also take what stripping
 * their types does.
 *
 * @param folder where nothing of the names of its files is yet
 */
export async function buildProgram(folder: string): Promise<BuiltProgram> {
  await runFile(join(root, "node_modules/.bin/rolldown"), ["-c", "--dir", join(folder, "dist")], {
    cwd: root,
  });
  for (const name of ["node_modules", "package.json"]) {
    symlinkSync(join(root, name), join(folder, name));
  }
  const program = join(folder, "dist/cli.js");
  return {
    path: program,
    run: (args) => runToEnd(program, args),
    startDaemon: (options) => startDaemonProcess(program, options),
  };
}

async function runToEnd(program: string, args: readonly string[]): Promise<Took> {
  const startedMs = performance.now();
  const importing = `data:text/javascript,${encodeURIComponent(confess)}`;
  const child = spawn(process.execPath, ["--import", importing, program, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let bytes = 0;
  child.stdout.on("data", (chunk: Buffer) => void (bytes += chunk.length));
  const complaints = text(child.stderr);
  const [code] = await once(child, "exit");
  const elapsedMs = performance.now() - startedMs;
  const said = await complaints;
  if (code !== 0) throw new Error(`sandwatch ${args.join(" ")} ended with ${code}: ${said}`);
  const peakBytes = Number(said.slice(said.lastIndexOf("\n") + 1));
  return { elapsedMs, bytes, peakBytes };
}
