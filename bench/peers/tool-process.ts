import { execFileSync, spawn } from "node:child_process";
import { accessSync, constants, readFileSync } from "node:fs";
import { join } from "node:path";
import { env } from "node:process";
import { setTimeout as delay } from "node:timers/promises";

export interface Memory {
  readonly residentKiB: number;
  readonly peakKiB: number;
}

export interface ToolProcess {
  readonly pid: number;
  stop(): Promise<void>;
}

const startPatienceMs = 90_000;
const ticksPerSecond = Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));

/** User and system time of a process with all its threads; of its waited-for children, if wanted. */
export function cpuMs(pid: number | "self", of: "itself" | "children" = "itself"): number {
  const text = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The second field is the command in parentheses, and may hold blanks.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const first = of === "itself" ? 11 : 13;
  const ticks = Number(fields[first]) + Number(fields[first + 1]);
  return (ticks * 1_000) / ticksPerSecond;
}

/** `undefined` once the process has ended. */
export function memory(pid: number): Memory | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/status`, "utf8");
    const read = (field: string): number =>
      Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(text)?.[1] ?? Number.NaN);
    const found = { residentKiB: read("VmRSS"), peakKiB: read("VmHWM") };
    return Number.isNaN(found.peakKiB) ? undefined : found;
  } catch {
    return undefined;
  }
}

/** Where a program is, in `PATH` or where Debian puts daemons and monitoring plugins. */
export function findTool(name: string): string | undefined {
  const folders = [...(env["PATH"] ?? "").split(":"), "/usr/sbin", "/usr/lib/nagios/plugins"];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Starts a tool and waits until `readyUrl` answers 200.
 *
 * @param environment beside that of this process
 */
export async function startTool(
  command: string,
  args: readonly string[],
  readyUrl: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<ToolProcess> {
  const child = spawn(command, args, { stdio: "ignore", env: { ...env, ...environment } });
  const ended = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${command} does not start`);
  const process = {
    pid,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGTERM");
      const late = setTimeout(() => void child.kill("SIGKILL"), 15_000);
      await ended.finally(() => clearTimeout(late));
    },
  };
  const untilMs = Date.now() + startPatienceMs;
  while (!(await answers(readyUrl))) {
    const over = child.exitCode !== null || child.signalCode !== null;
    if (over || Date.now() > untilMs) {
      await process.stop();
      throw new Error(over ? "it ended at once" : "it never answered");
    }
    await delay(100);
  }
  return process;
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url);
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}
