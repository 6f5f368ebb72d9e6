import { accessSync, constants, existsSync, realpathSync, statfsSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { inMemory } from "../../store/sqlite/file-lock.ts";
import { checkStore } from "../../store/sqlite/store-check.ts";
import { StoreError } from "../../store/store-error.ts";
import type { PostgresSettings, StoreSettings } from "../../store/store-settings.ts";
import type { Finding } from "./finding.ts";

const MiB = 2 ** 20;

/** A larger store takes too long to check as a whole. */
const mostCheckedBytes = 256 * MiB;
const leastFreeBytes = 100 * MiB;
const enoughFreeBytes = 1024 * MiB;

export async function checkConfiguredStore({
  path,
  postgres,
}: StoreSettings): Promise<readonly Finding[]> {
  return postgres === null ? checkStoreFiles(path) : checkPostgres(postgres);
}

/** Whether the server can be reached and used, how, and what it has of the store. */
async function checkPostgres(postgres: PostgresSettings): Promise<readonly Finding[]> {
  const { examinePostgres } = await import("../../store/postgres/database.ts");
  try {
    const { place, version, isEncrypted, isLocal, holder, fault } = await examinePostgres(postgres);
    const encryption = isEncrypted ? "with TLS" : "without TLS";
    return [
      { level: "ok", text: `the ${place} answers: version ${version}, ${encryption}` },
      ...(isEncrypted || isLocal ? [] : [unencrypted]),
      ...(fault === null
        ? [{ level: "ok", text: `schema ${postgres.schema} has the store` } as const]
        : [{ level: fault.isFailure ? "failure" : "note", text: fault.text } as const]),
      ...(holder === null
        ? []
        : [{ level: "note", text: `a daemon or command uses it (process ${holder})` } as const]),
    ];
  } catch (error) {
    if (error instanceof StoreError) return [{ level: "failure", text: error.message }];
    throw error;
  }
}

const unencrypted: Finding = {
  level: "warning",
  text: "the history, and with some methods the password, is sent without encryption",
  mend: "Use sslmode=verify-full in store.postgres.url.",
};

/** Its folder, the space on its disk, its permissions, and whether it is sound. */
function checkStoreFiles(path: string): readonly Finding[] {
  if (path === inMemory) return [{ level: "note", text: "it is in memory: nothing is kept" }];
  const file = existsSync(path) ? realpathSync(path) : resolve(path);
  const folder = existingFolder(dirname(file));
  const isThere = existsSync(file);
  return [
    ...checkWritable(file, folder),
    describeSpace(folder, freeBytes(folder), isThere ? statSync(file).size : 0),
    ...(isThere ? [...checkPrivate(file), ...checkContent(file)] : []),
    ...(isThere
      ? []
      : [{ level: "note", text: `there is no store ${file} yet: the daemon creates it` } as const]),
  ];
}

function existingFolder(folder: string): string {
  return existsSync(folder) ? folder : existingFolder(dirname(folder));
}

function checkWritable(file: string, folder: string): readonly Finding[] {
  const paths = [folder, ...["", "-wal", "-shm", ".lock"].map((end) => file + end)];
  return paths.filter(existsSync).flatMap((path): Finding[] => {
    try {
      accessSync(path, constants.R_OK | constants.W_OK);
      return [];
    } catch (error) {
      return [describeDenied(path, Object(error).code === "EROFS")];
    }
  });
}

export function describeDenied(path: string, isReadOnly: boolean): Finding {
  return isReadOnly
    ? {
        level: "failure",
        text: `the file system of ${path} is read-only`,
        mend: "Mount it so that it can be written, or set another store.path.",
      }
    : {
        level: "failure",
        text: `this user may not read and write ${path}`,
        mend: "Grant access to it, or set another store.path.",
      };
}

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

export function describeSpace(folder: string, free: number, storeBytes: number): Finding {
  const text = `${Math.floor(free / MiB)} MiB free on the disk of ${folder}`;
  const mend = "Free space: on a full disk nothing is stored and nobody is notified.";
  if (free < leastFreeBytes) return { level: "failure", text, mend };
  if (free < Math.max(enoughFreeBytes, storeBytes / 4)) return { level: "warning", text, mend };
  return { level: "ok", text };
}

function checkPrivate(file: string): readonly Finding[] {
  if ((statSync(file).mode & 0o077) === 0) return [];
  const text = `${file} can be read by other users`;
  return [{ level: "warning", text, mend: `Run: chmod 600 ${file}` }];
}

function checkContent(file: string): readonly Finding[] {
  const { size } = statSync(file);
  if (size > mostCheckedBytes) {
    const text = `${file} has ${Math.floor(size / MiB)} MiB, which takes long to check`;
    return [{ level: "note", text, mend: "Run: sandwatch store check" }];
  }
  try {
    const { faults, bytes } = checkStore(file);
    const mebibytes = (bytes / MiB).toFixed(1);
    if (faults.length === 0) return [{ level: "ok", text: `${file} is sound: ${mebibytes} MiB` }];
    const mend = "Run: sandwatch store check. If SQLite reports the faults, restore a backup.";
    return [{ level: "failure", text: `${file}: ${faults.join("; ")}`, mend }];
  } catch (error) {
    if (error instanceof StoreError) return [{ level: "failure", text: error.message }];
    throw error;
  }
}
