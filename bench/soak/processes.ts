import { once } from "node:events";
import { appendFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { spawnDaemon } from "../support/daemon.ts";

/** Errors that the soak causes: it reloads a configuration that is refused. */
const expectedErrors = new Set(["config.refused"]);
const mostFaults = 20;

/** As the image and the unit set them. Otherwise the allocator keeps so much in reserve that a leak would not be seen. */
const memorySettings = {
  NODE_OPTIONS: "--max-semi-space-size=4",
  MALLOC_ARENA_MAX: "1",
  MALLOC_MMAP_THRESHOLD_: "131072",
};

/** The daemon, whose log is read, and kept in a file where one is given. */
export async function startSoaked(program: string, configFile: string, logFile?: string) {
  const { child, ...daemon } = spawnDaemon(program, configFile, "pipe", memorySettings);
  const faults: string[] = [];
  const events = new Map<string, number>();
  let onApplied = (): void => {};
  const report = (line: string): void => {
    if (faults.length < mostFaults) faults.push(line);
  };
  const readLine = (line: string): void => {
    if (logFile !== undefined) appendFileSync(logFile, `${line}\n`);
    const { level, event }: { level?: string; event?: string } = parsed(line) ?? {};
    if (event === undefined) return report(line);
    events.set(event, (events.get(event) ?? 0) + 1);
    if (level === "error" && !expectedErrors.has(event)) report(line);
    if (event === "daemon.started" || event === "config.refused") onApplied();
  };
  if (child.stdout) createInterface(child.stdout).on("line", readLine);
  if (child.stderr) createInterface(child.stderr).on("line", report);
  const untilApplied = (): Promise<void> =>
    daemon.whileRunning(new Promise((resolve) => (onApplied = resolve)));
  await untilApplied();
  return {
    ...daemon,
    pid: child.pid ?? 0,
    /** What the log has that it should not. */
    faults,
    events,
    /** Resolves once it runs with the configuration, or has refused it. */
    async reload(configuration: string): Promise<void> {
      writeFileSync(configFile, configuration);
      const applied = untilApplied();
      child.kill("SIGHUP");
      await applied;
    },
    /** @returns how it ended, and after how long */
    async stop() {
      const startedMs = performance.now();
      child.kill("SIGTERM");
      const [code, signal] = await once(child, "exit");
      return { end: String(signal ?? code), ms: performance.now() - startedMs };
    },
  };
}

function parsed(line: string): object | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" ? value : null;
  } catch {
    return null;
  }
}
