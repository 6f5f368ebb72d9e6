import { DatabaseSync, StatementSync, type SQLInputValue } from "node:sqlite";

interface HasDatabases {
  readonly databases: Set<DatabaseSync>;
}

/** Runs a statement of a process; may throw instead, or afterwards. */
type StatementHook<Process> = <T>(
  process: Process,
  database: DatabaseSync,
  sql: string,
  run: () => T,
) => T;

/** Passes every statement of the current process's databases to a hook, until disposed of. */
export function hookStatements<Process extends HasDatabases>(
  current: () => Process | null,
  hookOf: StatementHook<Process>,
) {
  const owners = new WeakMap<DatabaseSync, Process>();
  const ofOthers = new WeakSet<DatabaseSync>();
  let isApart = false;
  /** How many others have the store open. */
  let others = 0;

  /** Null: the database or the statement is not the process's. */
  const ownerOf = (database: DatabaseSync): Process | null => {
    if (isApart || ofOthers.has(database)) return null;
    const owner = owners.get(database) ?? current();
    if (owner === null || owners.has(database)) return owner;
    if (others > 0) {
      ofOthers.add(database);
      return null;
    }
    owners.set(database, owner);
    owner.databases.add(database);
    return owner;
  };
  const hook = <T>(database: DatabaseSync, sql: string, run: () => T): T => {
    const owner = ownerOf(database);
    return owner === null || sql === "rollback" ? run() : hookOf(owner, database, sql, run);
  };

  const undo = new DisposableStack();
  const databaseOf = new WeakMap<StatementSync, DatabaseSync>();
  replaceMethod(undo, DatabaseSync.prototype, "prepare", (original: DatabaseSync["prepare"]) => {
    return function (this: DatabaseSync, sql: string) {
      const statement = Reflect.apply(original, this, [sql]);
      databaseOf.set(statement, this);
      return statement;
    };
  });
  replaceMethod(undo, DatabaseSync.prototype, "exec", (original: DatabaseSync["exec"]) => {
    return function (this: DatabaseSync, sql: string) {
      hook(this, sql, () => Reflect.apply(original, this, [sql]));
    };
  });
  type Run = (...parameters: SQLInputValue[]) => unknown;
  for (const method of ["run", "all", "get"] as const) {
    replaceMethod(undo, StatementSync.prototype, method, (original: Run) => {
      return function (this: StatementSync, ...parameters: SQLInputValue[]) {
        const database = databaseOf.get(this);
        if (!database) throw new TypeError("a statement of an unknown database");
        return hook(database, this.sourceSQL, () => Reflect.apply(original, this, parameters));
      };
    });
  }
  return {
    /** Does something that is not the process's doing. */
    apart(act: () => void): void {
      isApart = true;
      act();
      isApart = false;
    },
    /** The same at length, while the process is at rest: databases that are opened meanwhile are not its own. */
    async beside(act: () => Promise<void>): Promise<void> {
      others += 1;
      await act();
      others -= 1;
    },
    [Symbol.dispose]: () => undo.dispose(),
  };
}

/** Replaces a method until the stack is disposed of. */
export function replaceMethod<Owner extends object, Name extends keyof Owner & string>(
  undo: DisposableStack,
  owner: Owner,
  name: Name,
  around: (original: Owner[Name]) => unknown,
): void {
  const original = owner[name];
  Object.defineProperty(owner, name, { value: around(original), configurable: true });
  undo.defer(() => Object.defineProperty(owner, name, { value: original, configurable: true }));
}
