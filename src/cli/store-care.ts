import type { Command } from "commander";
import { forgetKey } from "../api/operations/forget-key.ts";
import type { Config } from "../config/config.ts";
import { counted } from "../fleet/text.ts";
import { systemClock } from "../lib/clock.ts";
import { backUpStore, restoreStore } from "../store/sqlite/backup.ts";
import { checkStore, findUnreadable } from "../store/sqlite/store-check.ts";
import type { CopyProgress } from "../store/postgres/copy-store.ts";
import { storeName } from "../store/store-settings.ts";
import { apiCommand } from "./api-command.ts";
import { callOperation } from "./call-api.ts";
import { CommandError, wrongUse } from "./exit-codes.ts";
import { configOption, optionalConfigOption, readConfig, usualConfig } from "./options.ts";
import { show, showNotes } from "./output.ts";
import type { Terminal } from "./terminal.ts";

export function addBackup(program: Command, terminal: Terminal): void {
  program
    .command("backup")
    .description("copy the store into a file and check the copy; the daemon may run meanwhile")
    .argument("<file>", "the file of the backup")
    .addOption(configOption())
    .option("--force", "replace the file if it exists")
    .action((file: string, { config, force }) => {
      const path = filePath(readConfig(config, terminal), instead.backup);
      const { bytes } = backUpStore(path, file, { force: force === true });
      terminal.out(`${file}: ${sizeText(bytes)}, checked\n`);
    });
}

export function addRestore(program: Command, terminal: Terminal): void {
  program
    .command("restore")
    .description("replace the store by a backup and keep the previous store; no daemon may run")
    .argument("<file>", "the file of the backup")
    .addOption(configOption())
    .action((file: string, { config }) => {
      const path = filePath(readConfig(config, terminal), instead.restore);
      const stamp = new Date(systemClock.now().utcMs).toISOString().replaceAll(/[-:]|\.\d+/g, "");
      const kept = restoreStore(path, file, { stamp });
      terminal.out(`The store ${path} is now the backup ${file}.\n`);
      if (kept.length > 0) {
        terminal.out(`The previous store is kept: ${kept.join(", ")}\n`);
      }
      showNotes(checkStore(path).faults, terminal);
    });
}

export function addStoreCommands(program: Command, terminal: Terminal): void {
  const store = program
    .command("store")
    .description("check the store, copy it to PostgreSQL, and delete the history of a key");
  store
    .command("check")
    .description("check every page of the store and that its rows agree; the daemon may run")
    .argument("[file]", "the file of a backup, instead of the configured store")
    .addOption(optionalConfigOption())
    .action(async (file: string | undefined, { config: given }) => {
      const config = given ?? (file === undefined ? usualConfig() : undefined);
      if ((file === undefined) === (config === undefined)) {
        throw wrongUse("Give either --config FILE or the file of a backup.");
      }
      const path = file ?? filePath(readConfig(config, terminal), instead.check);
      const options = { isBackup: file !== undefined };
      const check = checkStore(path, options);
      const unreadable = check.hasRows ? await findUnreadable(path, options) : [];
      const faults = [...check.faults, ...unreadable];
      if (faults.length > 0) throw new CommandError(faultsText(path, faults));
      terminal.out(`${path} is sound: ${sizeText(check.bytes)}, schema version ${check.version}\n`);
    });

  store
    .command("copy")
    .description(
      "copy the store from SQLite into a new schema of PostgreSQL and compare both; no daemon may run",
    )
    .addOption(configOption())
    .requiredOption("--to <file>", "a configuration with store.postgres")
    .action(async ({ config, to }) => {
      const path = filePath(readConfig(config, terminal), instead.copy);
      const { store: target } = readConfig(to, terminal);
      if (target.postgres === null) throw wrongUse(`${to} has no store.postgres.`);
      const { copyToPostgres } = await import("../store/postgres/copy-store.ts");
      const tables = await copyToPostgres(path, target.postgres, progressLines(terminal));
      const rows = tables.values().reduce((sum, of) => sum + of, 0);
      terminal.out(
        `${counted(rows, "row")} of ${counted(tables.size, "table")} were copied to ${storeName(target)}, and compared.\n` +
          `Start the daemon with ${to} now, and not with ${config} any more. ${path} was not changed.\n`,
      );
    });

  apiCommand(
    store.command("forget"),
    "delete the history of a key that is not configured any more, for good",
  )
    .requiredOption("--key <name>", "the name of the key")
    .option("--undelivered", "also delete notifications about it that were not delivered yet")
    .option("--yes", "confirm that the history is deleted")
    .action(async ({ key, undelivered, yes, json, ...options }) => {
      if (!yes)
        throw wrongUse(`The history of the key ${key} would be deleted for good: add --yes.`);
      let deleted = 0;
      for (let isComplete = false; !isComplete;) {
        const view = await callOperation(options, terminal, forgetKey, { key, undelivered });
        deleted += view.deleted;
        isComplete = view.complete;
      }
      show({ key, deleted }, { json }, terminal, () =>
        deleted === 0
          ? `Nothing is stored of a key ${key}.\n`
          : `${counted(deleted, "row")} of the key ${key} were deleted. Backups that were made before still have them.\n`,
      );
    });
}

/** What to do with a store that is no file. */
const instead = {
  backup: "Back it up with pg_dump --format custom --schema SCHEMA, also while the daemon runs",
  restore:
    "Stop the daemon, rename or drop the schema, and restore a dump with pg_restore --exit-on-error",
  copy: "Only a store on SQLite is copied; copy this one with pg_dump and pg_restore",
  check:
    "sandwatch doctor checks the connection and the schema; pg_amcheck checks the content of a database",
};

const progressEveryMs = 10_000;

/** Shows how far the copy of a large store is. */
function progressLines({ err, clock = systemClock }: Terminal) {
  let shownAtMs = clock.now().monotonicMs;
  return ({ step, table, rows, of }: CopyProgress): void => {
    const { monotonicMs: nowMs } = clock.now();
    if (nowMs - shownAtMs < progressEveryMs) return;
    shownAtMs = nowMs;
    err(`${table}: ${Math.floor((100 * rows) / of)} % of ${counted(of, "row")} ${step}\n`);
  };
}

function filePath({ store }: Config, otherwise: string): string {
  if (store.postgres === null) return store.path;
  throw new CommandError(
    `The store is ${storeName(store)}. ${otherwise.replace("SCHEMA", store.postgres.schema)}: see "PostgreSQL" in docs/operations.md.`,
  );
}

function faultsText(path: string, faults: readonly string[]): string {
  return [
    `${path} has ${counted(faults.length, "fault")}:`,
    ...faults.map((fault) => `  ${fault}`),
    "Restore a backup if SQLite reports faults. Otherwise sandwatch runs without the rows that it cannot use.",
  ].join("\n");
}

function sizeText(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}
