import { DatabaseSync } from "node:sqlite";
import { setTimeout } from "node:timers/promises";

/** Holds an SQLite file against writers for some milliseconds. */
const [, , file = "", ms = "0"] = process.argv;
using database = new DatabaseSync(file);
database.exec("begin exclusive");
process.stdout.write("held\n");
await setTimeout(Number(ms));
database.exec("rollback");
