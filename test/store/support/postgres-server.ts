import { execFileSync, spawn } from "node:child_process";
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";

/** PostgreSQL does not run as root. */
const nobody = 65_534;

/**
 * Starts a PostgreSQL for all test files, on a socket in a folder of its own alone, so that no port can be taken. Tests
 * find the folder in the environment. The variable `POSTGRES_PROGRAMS` names a folder with the programs where they are
 * not those of Debian's package.
 */
export default async function startPostgres(): Promise<() => Promise<void>> {
  const programs = process.env["POSTGRES_PROGRAMS"] ?? findPrograms();
  const folder = mkdtempSync(join(tmpdir(), "sandwatch-postgres-"));
  const isRoot = process.getuid?.() === 0;
  const options = { cwd: folder, ...(isRoot && { uid: nobody, gid: nobody }) };
  if (isRoot) chownSync(folder, nobody, nobody);
  const data = join(folder, "data");
  // In a language that does not compare texts by their bytes, as that of most machines.
  const language = ["--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en"];
  const cluster = [
    "--pgdata",
    data,
    "--username=test",
    "--auth=trust",
    "--encoding=UTF8",
    "--no-sync",
  ];
  execFileSync(join(programs, "initdb"), [...cluster, ...language], { ...options, stdio: "pipe" });
  const server = spawn(
    join(programs, "postgres"),
    ["-D", data, "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off"],
    { ...options, stdio: "ignore" },
  );
  const ended = new Promise<void>((resolve) => void server.once("exit", () => resolve()));
  for (let tries = 0; !isReady(programs, folder); tries++) {
    if (server.exitCode !== null || tries > 600) throw new Error("PostgreSQL does not start");
    await wait(50);
  }
  process.env["TEST_POSTGRES"] = folder;
  return async () => {
    // A fast shutdown: it does not wait for connections that are left.
    server.kill("SIGINT");
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
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

function isReady(programs: string, folder: string): boolean {
  try {
    execFileSync(join(programs, "pg_isready"), ["-h", folder, "-U", "test"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
