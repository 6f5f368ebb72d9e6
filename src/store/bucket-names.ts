import type { Kysely } from "kysely";
import { createRowReading, textIn } from "./row-reading.ts";
import type { Tables } from "./tables.ts";

/**
 * Buckets name servers by number. A name is kept as JSON: not every text of the service is one that
 * SQLite gives back as it was.
 */
export interface BucketNames {
  /** Null: it is not known to have one. */
  idOf(name: string): number | null;
  /** Within the transaction that writes the buckets. */
  write(trx: Kysely<Tables>, names: Iterable<string>): Promise<ReadonlyMap<string, number>>;
  /** Once that is committed. */
  takeOn(ids: ReadonlyMap<string, number>): void;
}

export function createBucketNames(): BucketNames {
  const known = new Map<string, number>();
  return {
    idOf: (name) => known.get(name) ?? null,
    async write(trx, names) {
      const ids = new Map<string, number>();
      for (const name of names) ids.set(name, await writeName(trx, name));
      return ids;
    },
    takeOn(ids) {
      for (const [name, id] of ids) known.set(name, id);
    },
  };
}

async function writeName(trx: Kysely<Tables>, name: string): Promise<number> {
  const json = JSON.stringify(name);
  await trx
    .insertInto("bucket_names")
    .values({ name: json })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const { id } = await trx
    .selectFrom("bucket_names")
    .select("id")
    .where("name", "=", json)
    .executeTakeFirstOrThrow();
  return id;
}

export interface NameReader {
  /** To be called after rows were read that may name new ones. */
  readonly refresh: () => Promise<void>;
  /** @throws {RangeError} when the store has none of this number */
  readonly nameOf: (id: number) => string;
}

/** Reads names by number, each once. */
export function createNameReader(reader: Kysely<Tables>, reading = createRowReading()): NameReader {
  const names = new Map<number, string>();
  let lastId = 0;
  return {
    async refresh() {
      const rows = await reader
        .selectFrom("bucket_names")
        .selectAll()
        .where("id", ">", lastId)
        .orderBy("id")
        .execute();
      for (const { id, name } of rows) {
        const read = reading.read("bucket_names", id, () => ({ name: textIn(JSON.parse(name)) }));
        if (read) names.set(id, read.name);
        lastId = id;
      }
    },
    nameOf(id) {
      const name = names.get(id);
      if (name === undefined) throw new RangeError(`the store has no name ${id} for its buckets`);
      return name;
    },
  };
}
