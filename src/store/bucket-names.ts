import type { Kysely } from "kysely";
import type { Bucket } from "../core/occupancy/bucket.ts";
import type { Tables } from "./tables.ts";

/**
 * Buckets name servers by number. A name is kept as JSON: not every text of the service is one that
 * SQLite gives back as it was.
 */
export interface BucketNames {
  /** Null: it was not written yet. */
  idOf(name: string): number | null;
  /**
   * Within the transaction that writes the buckets.
   *
   * @returns the ids of names that were not known; to be taken on once the transaction is committed
   */
  write(trx: Kysely<Tables>, buckets: Iterable<Bucket>): Promise<ReadonlyMap<string, number>>;
  takeOn(ids: ReadonlyMap<string, number>): void;
}

const noneUnknown: ReadonlyMap<string, number> = new Map();

export function createBucketNames(): BucketNames {
  const known = new Map<string, number>();
  return {
    idOf: (name) => known.get(name) ?? null,
    async write(trx, buckets) {
      const unknown = new Set<string>();
      for (const { names } of buckets) {
        for (const name of names.keys()) if (!known.has(name)) unknown.add(name);
      }
      if (unknown.size === 0) return noneUnknown;
      const ids = new Map<string, number>();
      for (const name of unknown) ids.set(name, await writeName(trx, name));
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
export function createNameReader(reader: Kysely<Tables>): NameReader {
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
        names.set(id, String(JSON.parse(name)));
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
