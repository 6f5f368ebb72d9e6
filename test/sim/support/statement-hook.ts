import { DatabaseSync, StatementSync } from "node:sqlite";
import type { SQLInputValue } from "node:sqlite";

/** Runs a statement, between whatever else is to happen; may throw instead, or afterwards. */
export type StatementHook = <T>(database: DatabaseSync, sql: string, run: () => T) => T;

/** Passes every statement of every database to the hook, until disposed of. */
export function hookStatements(hook: StatementHook): Disposable {
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
