import { DatabaseSync } from "node:sqlite";
import type { WatchedWorld } from "./watched-world.ts";

/** Runs statements on the store between two runs of the daemon. */
export async function spoil(
  world: WatchedWorld,
  statements: string,
  changed?: { readonly alerts?: object },
): Promise<void> {
  await world.daemon().stop();
  {
    using database = new DatabaseSync(world.config.store.path);
    database.exec(statements);
  }
  await world.restart(changed);
}

export function unreadable(world: WatchedWorld): readonly unknown[] {
  return world.log.flatMap(({ event, table, row }) =>
    event === "store.row_unreadable" ? [[table, row]] : [],
  );
}

/** A statement that gives every row of a table a number that JavaScript cannot hold. */
export function outOfRange(table: string, column: string): string {
  return `update ${table} set ${column} = 9223372036854775807`;
}
