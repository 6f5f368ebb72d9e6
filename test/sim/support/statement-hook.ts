import { DatabaseSync, StatementSync } from "node:sqlite";
import type { SQLInputValue } from "node:sqlite";

export interface StatementHook {
  /** May throw: then the statement is not run. */
  before(database: DatabaseSync, sql: string): void;
  /** May throw: then the statement was run, but nobody hears of it. */
  after(database: DatabaseSync, sql: string): void;
}

/** Has every statement of every database go by the hook, until disposed of. */
export function hookStatements(hook: StatementHook): Disposable {
  const undo = new DisposableStack();
  const databaseOf = new WeakMap<StatementSync, DatabaseSync>();

  const databaseOfStatement = (statement: StatementSync): DatabaseSync => {
    const database = databaseOf.get(statement);
    if (!database) throw new TypeError("a statement of an unknown database");
    return database;
  };

  replaceMethod(undo, DatabaseSync.prototype, "prepare", (original: DatabaseSync["prepare"]) => {
    return function (this: DatabaseSync, sql: string) {
      const statement = Reflect.apply(original, this, [sql]);
      databaseOf.set(statement, this);
      return statement;
    };
  });
  replaceMethod(undo, DatabaseSync.prototype, "exec", (original: DatabaseSync["exec"]) => {
    return function (this: DatabaseSync, sql: string) {
      hook.before(this, sql);
      Reflect.apply(original, this, [sql]);
      hook.after(this, sql);
    };
  });
  for (const method of ["run", "all", "get"] as const) {
    replaceMethod(
      undo,
      StatementSync.prototype,
      method,
      (original: (...parameters: SQLInputValue[]) => unknown) => {
        return function (this: StatementSync, ...parameters: SQLInputValue[]) {
          const database = databaseOfStatement(this);
          hook.before(database, this.sourceSQL);
          const result = Reflect.apply(original, this, parameters);
          hook.after(database, this.sourceSQL);
          return result;
        };
      },
    );
  }
  return undo;
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
