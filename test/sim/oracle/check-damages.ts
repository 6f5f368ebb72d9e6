import type { History } from "../history.ts";
import { violation } from "./violation.ts";
import type { Violation } from "./violation.ts";

/** Their rows are read when a process starts; others when somebody asks for them. */
const readAtStart = new Set([
  "silences",
  "flap_records",
  "incidents",
  "servers",
  "sandboxes",
  "open_buckets",
  "drift",
]);

/** That a process logs that it cannot read a row, and no process does that can read all: what follows from it, other checks say. */
export function checkDamages({ damages, lives, storeLog }: History): readonly Violation[] {
  const lines = storeLog.filter(({ event }) => event === "store.row_unreadable");
  const concealed = damages.filter(
    ({ life, table }) =>
      readAtStart.has(table) &&
      (lives[life - 1]?.watchMs ?? null) !== null &&
      !lines.some((line) => line.life === life && line.table === table),
  );
  const invented = lines.filter(
    (line) =>
      !damages.some(
        ({ life, table }) =>
          life <= line.life &&
          (table === line.table ||
            // The servers of a sandbox are damaged with it.
            (table === "sandboxes" && line.table === "servers") ||
            // An item becomes a dead letter that cannot be read either.
            (table === "outbox_items" && line.table === "notifications")),
      ),
  );
  return [
    ...concealed.map(({ life, table }) =>
      violation(`process ${life} did not log that it cannot read a row of ${table}`),
    ),
    ...invented.map(({ life, table }) =>
      violation(`process ${life} logged that it cannot read a row of ${table}, though it can`),
    ),
  ];
}
