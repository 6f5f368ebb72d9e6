import { spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
}

export interface SandwatchProcess {
  /**
   * Resolves with the first line of standard output that holds the text, past ones included.
   * Rejects when the process ends without it.
   */
  line(part: string): Promise<string>;
  /** Resolves once N lines of standard output hold the text. */
  lines(part: string, count: number): Promise<void>;
  send(signal: NodeJS.Signals): void;
  readonly pid: number;
  readonly ended: Promise<Ended>;
}

const root = join(import.meta.dirname, "../..");

/** Bundled by bundle-programs.ts; undefined where tests run without. */
const bundled = process.env["TEST_PROGRAMS"];

/** So that the many short runs need not compile the same code each time. */
export const compileCache = join(bundled ?? tmpdir(), "compile-cache");

const sources = { cli: "src/cli.js", victim: "test/crash/victim.ts" };

/** The path of a program: of one file where it was bundled, else of its source. */
export function programOf(name: keyof typeof sources): string {
  return bundled === undefined ? join(root, sources[name]) : join(bundled, `${name}.js`);
}

const program = programOf("cli");

/** The program as a user runs it: a process of its own. */
export function startSandwatch(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  /** A file to write standard output to, instead of being read here. */
  outputFd?: number,
): SandwatchProcess {
  return startProgram([program, ...args], environment, outputFd);
}

/** Node.js, with a script and its arguments. */
export function startProgram(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  outputFd?: number,
): SandwatchProcess {
  return startProcess(process.execPath, args, environment, outputFd);
}

/** The program as a user runs it after `ulimit -n`. */
export function startSandwatchWithFewFiles(
  openFiles: number,
  args: readonly string[],
): SandwatchProcess {
  const script = `ulimit -n ${openFiles} && exec "$@"`;
  return startProcess("bash", ["-c", script, "bash", process.execPath, program, ...args]);
}

/** The program as the function of the README runs it. */
export function startSandwatchByNpm(args: readonly string[]): SandwatchProcess {
  return startProcess("npm", ["run", "--silent", "sandwatch", "--", ...args]);
}

function startProcess(
  file: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  outputFd?: number,
): SandwatchProcess {
  const child = spawn(file, args, {
    env: { ...process.env, NODE_COMPILE_CACHE: compileCache, ...environment },
    stdio: ["ignore", outputFd ?? "pipe", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  let hasEnded = false;
  if (child.stdout) {
    createInterface(child.stdout).on("line", (line) => {
      lines.push(line);
      for (const look of waiting) look();
    });
  }
  const untilFound = <T>(part: string, find: () => T | undefined): Promise<T> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = find();
        if (found === undefined && !hasEnded) return void waiting.add(look);
        waiting.delete(look);
        if (found !== undefined) resolve(found);
        else reject(new Error(`ended without printing "${part}":\n${lines.join("\n")}\n${err}`));
      };
      look();
    });
  let err = "";
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => (err += chunk));
  const end = async (): Promise<Ended> => {
    const [code, signal] = await once(child, "close");
    hasEnded = true;
    for (const look of waiting) look();
    return { code, signal, out: lines.map((line) => `${line}\n`).join(""), err };
  };
  return {
    line: (part) => untilFound(part, () => lines.find((line) => line.includes(part))),
    async lines(part, count) {
      await untilFound(part, () => lines.filter((line) => line.includes(part))[count - 1]);
    },
    send: (signal) => void child.kill(signal),
    pid: child.pid ?? 0,
    ended: end(),
  };
}

export function runSandwatch(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  return startSandwatch(args, environment).ended;
}
