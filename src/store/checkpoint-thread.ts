import { DatabaseSync } from "node:sqlite";
import { workerData } from "node:worker_threads";

/** Takes a database's write-ahead log over into its file, as far as nobody reads or writes there. */
if (typeof workerData === "string") {
  using database = new DatabaseSync(workerData);
  database.exec("pragma synchronous = full; pragma wal_checkpoint(passive)");
}
