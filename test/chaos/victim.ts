import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { startPostgresProxy, type Cut, type PostgresProxy } from "../support/postgres-proxy.ts";
import { configurationText, type Addresses } from "./world.ts";

/** A line of the log of a process. */
export interface LogEvent {
  /** The victim and the number of its process. */
  readonly incarnation: string;
  readonly event: string;
  readonly atMs: number;
}

export interface VictimOptions {
  readonly name: string;
  readonly program: string;
  readonly folder: string;
  readonly addresses: Addresses;
  /** The folder of the socket of PostgreSQL. */
  readonly postgres: string;
  readonly events: LogEvent[];
  /** Called with what should not be. */
  readonly onProblem: (problem: string) => void;
  readonly logFile: string | undefined;
}

export interface Victim {
  readonly name: string;
  readonly proxy: PostgresProxy;
  readonly origin: string;
  /** Null while no process runs. */
  incarnation(): string | null;
  start(generation: number): void;
  /** Resolves when its process is ready, whether it is active or stands by. */
  ready(withinMs: number): Promise<boolean>;
  kill(): Promise<void>;
  stop(): Promise<void>;
  /** Lets it read another configuration. */
  reload(generation: number): void;
  freeze(): void;
  /** As if its machine were suspended: what it takes for the time stands still. */
  suspend(): void;
  /** Ends both. */
  thaw(): void;
  /**
   * Does something to the connection at the next part of that kind that it sends to PostgreSQL.
   *
   * @returns whether there was one within that time
   */
  trap(part: string, cut: Cut, withinMs: number, onCaught?: () => void): Promise<boolean>;
}

const restartMs = 1_000;
const longestStopMs = 30_000;
const suspendableClock = join(import.meta.dirname, "suspendable-clock.ts");

/** A process with its configuration and its own way to PostgreSQL. It is started again and again. */
export async function createVictim(options: VictimOptions): Promise<Victim> {
  const { name, program, postgres, addresses, events, onProblem, logFile } = options;
  const folder = join(options.folder, name);
  mkdirSync(folder);
  let cutAt: (part: string) => Cut = () => null;
  const proxy = await startPostgresProxy({ host: postgres, port: 5432 }, (part) => cutAt(part));
  const file = join(folder, "sandwatch.yaml");
  const suspended = join(folder, "suspended");
  const url = `postgresql://test@127.0.0.1:${proxy.port}/postgres?sslmode=disable`;
  writeFileSync(join(folder, "url"), `${url}\n`);
  const origin = `http://127.0.0.1:${addresses.port}`;
  let child: ChildProcess | null = null;
  let life = 0;
  let isExpectedToEnd = false;
  const incarnation = (): string => `${name}.${life}`;
  const configure = (generation: number): void =>
    writeFileSync(file, configurationText(addresses, incarnation(), generation));
  const keep = (line: string): void => {
    if (logFile !== undefined) appendFileSync(logFile, `${incarnation()} ${line}\n`);
  };
  const note = (what: string): void => keep(`${new Date().toISOString()} ${what}`);
  const readLine = (line: string): void => {
    keep(line);
    const event = /"event":"([\w.]+)"/.exec(line)?.[1] ?? "none";
    events.push({ incarnation: incarnation(), event, atMs: Date.now() });
  };
  const ended = async (running: ChildProcess): Promise<void> => {
    if (running.exitCode === null && running.signalCode === null) await once(running, "exit");
  };

  const start: Victim["start"] = (generation) => {
    life += 1;
    isExpectedToEnd = false;
    configure(generation);
    rmSync(suspended, { force: true });
    const args = ["--import", suspendableClock, program, "run", "--config", file];
    const running = spawn(process.execPath, args, {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, SUSPENDED_FILE: suspended },
    });
    child = running;
    note("started");
    createInterface(running.stdout).on("line", readLine);
    createInterface(running.stderr).on("line", (line) => keep(`stderr: ${line}`));
    running.on("exit", (code, signal) => {
      child = null;
      note("ended");
      if (isExpectedToEnd) return;
      onProblem(`${incarnation()} ended by itself with ${String(signal ?? code)}`);
      // As a supervisor does, but not after the run.
      setTimeout(() => {
        if (!isExpectedToEnd) start(generation);
      }, restartMs).unref();
    });
  };

  const freeze = (): void => {
    note("frozen");
    child?.kill("SIGSTOP");
  };

  return {
    name,
    proxy,
    origin,
    incarnation: () => (child ? incarnation() : null),
    start,
    async ready(withinMs) {
      for (const endMs = Date.now() + withinMs; Date.now() < endMs;) {
        const answer = await fetch(`${origin}/-/ready`, {
          signal: AbortSignal.timeout(1_000),
        }).then(
          ({ status }) => status,
          () => 0,
        );
        if (answer === 200) return true;
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
      return false;
    },
    async kill() {
      isExpectedToEnd = true;
      if (!child) return;
      const running = child;
      note("killed");
      running.kill("SIGKILL");
      await ended(running);
    },
    async stop() {
      isExpectedToEnd = true;
      if (!child) return;
      const running = child;
      note("stopping");
      running.kill("SIGTERM");
      const late = setTimeout(() => {
        onProblem(`${incarnation()} did not stop within ${longestStopMs} ms`);
        running.kill("SIGKILL");
      }, longestStopMs);
      await ended(running);
      clearTimeout(late);
      const code = running.exitCode;
      if (code !== null && code !== 0) onProblem(`${incarnation()} stopped with ${code}`);
    },
    reload(generation) {
      note("reloading");
      configure(generation);
      child?.kill("SIGHUP");
    },
    freeze,
    suspend() {
      writeFileSync(suspended, "");
      freeze();
    },
    thaw() {
      note("goes on");
      child?.kill("SIGCONT");
    },
    trap: (part, cut, withinMs, onCaught) =>
      new Promise((resolve) => {
        const settle = (isCaught: boolean): void => {
          cutAt = () => null;
          clearTimeout(late);
          resolve(isCaught);
        };
        const late = setTimeout(() => settle(false), withinMs);
        cutAt = (sent) => {
          if (!sent.includes(part)) return null;
          onCaught?.();
          settle(true);
          return cut;
        };
      }),
  };
}
