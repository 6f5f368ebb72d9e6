import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { startPostgresProxy, type Cut, type PostgresProxy } from "../support/postgres-proxy.ts";
import { configurationText, incarnationName, type Addresses } from "./world.ts";

/** Something that was done to a process of a replica, or that it did. */
export interface Note {
  readonly incarnation: string;
  readonly what: "started" | "killed" | "stopping" | "stopped" | "harmed" | "healed";
  readonly generation: number;
  readonly atMs: number;
}

export interface ReplicaOptions {
  readonly name: string;
  readonly program: string;
  readonly folder: string;
  readonly addresses: Addresses;
  /** The folder of the socket of PostgreSQL. */
  readonly postgres: string;
  readonly notes: Note[];
  /** Called with what should not be. */
  readonly onProblem: (problem: string) => void;
  readonly events: Map<string, number>;
  readonly logFile: string | undefined;
}

export interface Replica {
  readonly name: string;
  readonly proxy: PostgresProxy;
  readonly origin: string;
  /** Null while no process runs. */
  incarnation(): string | null;
  start(generation: number): void;
  /** Resolves when its process is ready, or has ended. */
  ready(withinMs: number): Promise<boolean>;
  kill(): Promise<void>;
  /** Hands over, and ends. */
  stop(): Promise<void>;
  freeze(): void;
  /** As if its machine were suspended: what it takes for the time stands still. */
  suspend(): void;
  /** Ends both. */
  thaw(): void;
  /** Marks a time in which it may be slower or stop acting. */
  harm(): void;
  heal(): void;
  /**
   * Does something to the connection at the next part of that kind that it sends to PostgreSQL.
   *
   * @returns whether there was one within that time
   */
  trap(part: string, cut: Cut, withinMs: number, onCaught?: () => void): Promise<boolean>;
}

const restartMs = 1_000;
const suspendableClock = join(import.meta.dirname, "suspendable-clock.ts");

/** A replica, with its own way to PostgreSQL. */
export async function createReplica(options: ReplicaOptions): Promise<Replica> {
  const { name, program, postgres, addresses, notes, onProblem, events, logFile } = options;
  const folder = join(options.folder, name);
  mkdirSync(folder);
  let cutAt: (part: string) => Cut = () => null;
  const proxy = await startPostgresProxy({ host: postgres, port: 5432 }, (part) => cutAt(part));
  const file = join(folder, "sandwatch.yaml");
  const suspended = join(folder, "suspended");
  writeFileSync(
    join(folder, "url"),
    `postgresql://test@127.0.0.1:${proxy.port}/postgres?sslmode=disable\n`,
  );
  const origin = `http://127.0.0.1:${addresses.port}`;
  let child: ChildProcess | null = null;
  let life = 0;
  let generation = 0;
  let isExpectedToEnd = false;
  const incarnation = (): string => incarnationName({ name, life });
  const keep = (line: string): void => {
    if (logFile !== undefined) appendFileSync(logFile, `${incarnation()} ${line}\n`);
  };
  const note = (what: Note["what"]): void => {
    const atMs = Date.now();
    notes.push({ incarnation: incarnation(), what, generation, atMs });
    keep(`${new Date(atMs).toISOString()} ${what}`);
  };

  const readLine = (line: string): void => {
    keep(line);
    const event = /"event":"([\w.]+)"/.exec(line)?.[1] ?? "none";
    events.set(event, (events.get(event) ?? 0) + 1);
  };

  const ended = async (running: ChildProcess): Promise<void> => {
    if (running.exitCode === null && running.signalCode === null) await once(running, "exit");
  };

  const start: Replica["start"] = (next) => {
    life += 1;
    generation = next;
    isExpectedToEnd = false;
    writeFileSync(file, configurationText(addresses, incarnation(), generation));
    rmSync(suspended, { force: true });
    const running = spawn(
      process.execPath,
      ["--import", suspendableClock, program, "run", "--config", file],
      {
        stdio: ["ignore", "pipe", "pipe"],
        env: { ...process.env, SUSPENDED_FILE: suspended },
      },
    );
    child = running;
    note("started");
    createInterface(running.stdout).on("line", readLine);
    createInterface(running.stderr).on("line", (line) => keep(`stderr: ${line}`));
    running.on("exit", (code, signal) => {
      child = null;
      note("stopped");
      if (isExpectedToEnd) return;
      onProblem(`${incarnation()} ended by itself with ${String(signal ?? code)}`);
      // As a supervisor does, but not after the run.
      setTimeout(() => {
        if (!isExpectedToEnd) start(generation);
      }, restartMs).unref();
    });
  };

  const freeze = (): void => {
    note("harmed");
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
      const fromMs = Date.now();
      running.kill("SIGTERM");
      const late = setTimeout(() => {
        onProblem(`${incarnation()} did not stop within 30 s`);
        running.kill("SIGKILL");
      }, 30_000);
      await ended(running);
      clearTimeout(late);
      const code = running.exitCode;
      if (code !== null && code !== 0) {
        onProblem(`${incarnation()} stopped with ${code} after ${Date.now() - fromMs} ms`);
      }
    },
    freeze,
    suspend() {
      writeFileSync(suspended, "");
      freeze();
    },
    thaw() {
      child?.kill("SIGCONT");
      note("healed");
    },
    harm: () => note("harmed"),
    heal: () => note("healed"),
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
