import type { DatabaseSync } from "node:sqlite";

/** Whose doing it is what a database is asked. */
export interface DatabaseOwners<Owner> {
  /** Null: no process's, but the world's. */
  ownerOf(database: DatabaseSync): Owner | null;
  /** Does something that is not the process's doing. */
  apart(act: () => void): void;
  /** The same at length, while the process is at rest: databases that are opened meanwhile are not its own. */
  beside(act: () => Promise<void>): Promise<void>;
}

/** @param adopt called with each database that a process opened */
export function createDatabaseOwners<Owner extends object>(
  current: () => Owner | null,
  adopt: (owner: Owner, database: DatabaseSync) => void,
): DatabaseOwners<Owner> {
  const owners = new WeakMap<DatabaseSync, Owner>();
  const ofOthers = new WeakSet<DatabaseSync>();
  let isApart = false;
  let others = 0;

  return {
    ownerOf(database) {
      if (isApart || ofOthers.has(database)) return null;
      const owner = owners.get(database) ?? current();
      if (owner === null || owners.has(database)) return owner;
      if (others > 0) {
        ofOthers.add(database);
        return null;
      }
      owners.set(database, owner);
      adopt(owner, database);
      return owner;
    },
    apart(act) {
      isApart = true;
      act();
      isApart = false;
    },
    async beside(act) {
      others += 1;
      await act();
      others -= 1;
    },
  };
}
