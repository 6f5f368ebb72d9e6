import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, readdirSync } from "node:fs";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { TestProject } from "vitest/node";
import { cert, key } from "../../support/self-signed.ts";

/** PostgreSQL does not run as root. */
const nobody = 65_534;

/** A PostgreSQL of the tests' own, in a temporary folder, which is also that of its socket. */
export interface PostgresServer {
  readonly folder: string;
  /** Of its first process. */
  pid(): number;
  start(): Promise<void>;
  /** A fast shutdown: it does not wait for connections that are left. */
  stop(): Promise<void>;
  /** Resolves when it has ended, also by itself. */
  ended(): Promise<void>;
  /** Ends all its processes at once, as a machine that loses its power: `start` recovers what was committed. */
  kill(): Promise<void>;
  remove(): Promise<void>;
}

const usual = ["fsync=off"];

export interface PostgresOrigin {
  /** The folder in which it gets its own. */
  readonly within?: string;
  /** That of a server without a port that runs: this one becomes a stand-by of it. */
  readonly primary?: string;
}

/**
 * The variable `POSTGRES_PROGRAMS` names a folder with the programs where they are not those of Debian's package.
 *
 * @param port at 127.0.0.1, with TLS and passwords; by default it listens on its socket only
 * @param given settings instead of those with which tests are fast
 */
export function createPostgresServer(
  port?: number,
  given: readonly string[] = usual,
  { within = tmpdir(), primary }: PostgresOrigin = {},
): PostgresServer {
  const programs = process.env["POSTGRES_PROGRAMS"] ?? findPrograms();
  const folder = mkdtempSync(join(within, "sandwatch-postgres-"));
  const isRoot = process.getuid?.() === 0;
  const options = { cwd: folder, ...(isRoot && { uid: nobody, gid: nobody }) };
  if (isRoot) chownSync(folder, nobody, nobody);
  const data = join(folder, "data");
  // In a language that does not compare texts by their bytes, as that of most machines.
  const language = ["--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en"];
  const access = ["--auth-local=trust", "--auth-host=scram-sha-256"];
  const cluster = ["--pgdata", data, "--username=test", "--encoding=UTF8", "--no-sync", ...access];
  if (primary === undefined) {
    execFileSync(join(programs, "initdb"), [...cluster, ...language], {
      ...options,
      stdio: "pipe",
    });
  } else {
    const from = ["--host", primary, "--username=test", "--checkpoint=fast", "--no-sync"];
    const to = ["--pgdata", data, "--write-recovery-conf"];
    execFileSync(join(programs, "pg_basebackup"), [...from, ...to], { ...options, stdio: "pipe" });
  }
  const settings = [...given, `listen_addresses=${port === undefined ? "" : "127.0.0.1"}`];
  if (port !== undefined) {
    const files = { "server.crt": cert, "server.key": key };
    for (const [name, content] of Object.entries(files)) {
      writeFileSync(join(data, name), content, { mode: 0o600 });
      if (isRoot) chownSync(join(data, name), nobody, nobody);
    }
    settings.push(`port=${port}`, "ssl=on");
  }
  const args = ["-D", data, "-k", folder, ...settings.flatMap((each) => ["-c", each])];
  let server: ChildProcess | undefined;
  const isReady = (): boolean => {
    const where = ["-h", folder, "-p", String(port ?? 5432), "-U", "test"];
    try {
      execFileSync(join(programs, "pg_isready"), where, { stdio: "ignore" });
      return true;
    } catch {
      return false;
    }
  };
  const ended = async (): Promise<void> => {
    if (server && !hasEnded(server)) await once(server, "exit");
  };
  const stop = (): Promise<void> => {
    server?.kill("SIGINT");
    return ended();
  };
  return {
    folder,
    pid: () => server?.pid ?? 0,
    stop,
    ended,
    async kill() {
      if (server?.pid === undefined || hasEnded(server)) return;
      const { pid } = server;
      const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
      for (const each of [pid, ...children.split(" ").filter(Boolean).map(Number)]) {
        endNow(each);
      }
      await ended();
    },
    async start() {
      server = spawn(join(programs, "postgres"), args, { ...options, stdio: "ignore" });
      for (let tries = 0; !isReady(); tries++) {
        if (hasEnded(server) || tries > 600) throw new Error("PostgreSQL does not start");
        await wait(50);
      }
    },
    async remove() {
      await stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

function endNow(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended already.
  }
}

/**
 * Starts one for each worker, as some tests end all connections. They find the folders in the environment: see
 * `postgresFolder`.
 */
export default async function startPostgres({ config }: TestProject): Promise<() => Promise<void>> {
  const servers = Array.from({ length: config.maxWorkers }, () => createPostgresServer());
  await Promise.all(servers.map((server) => server.start()));
  process.env["TEST_POSTGRES"] = servers.map(({ folder }) => folder).join(":");
  return async () => void (await Promise.all(servers.map((server) => server.remove())));
}

/** Where Debian's packages put the programs of PostgreSQL, of the newest version. */
function findPrograms(): string {
  const versions = "/usr/lib/postgresql";
  const found = (existsSync(versions) ? readdirSync(versions) : [])
    .toSorted((one, other) => Number(other) - Number(one))
    .map((version) => join(versions, version, "bin"))
    .find((folder) => existsSync(join(folder, "initdb")));
  if (found !== undefined) return found;
  throw new Error("PostgreSQL is not installed: on Debian, `apt-get install postgresql-15`");
}
