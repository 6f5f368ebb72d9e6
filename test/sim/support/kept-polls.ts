import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { KeptPoll } from "../history.ts";

/** Notes at each commit which polls it wrote, from how many the store counts of each target. */
export interface KeptPolls {
  committed(database: DatabaseSync, life: number): void;
  readonly polls: readonly KeptPoll[];
  /** What can not be. */
  readonly faults: readonly string[];
}

/** The one place that knows how the store counts polls. */
const countPolls = `select region || '/' || key as target, attempted_polls as polls from targets`;

export function createKeptPolls(now: () => Omit<KeptPoll, "target" | "life">): KeptPolls {
  const polls: KeptPoll[] = [];
  const faults: string[] = [];
  const counts = new Map<string, number>();
  const statements = new WeakMap<DatabaseSync, StatementSync>();
  return {
    polls,
    faults,
    committed(database, life) {
      if (!hasTargets(database)) return;
      const statement = statements.get(database) ?? database.prepare(countPolls);
      statements.set(database, statement);
      for (const row of statement.all()) {
        const target = String(row["target"]);
        const before = counts.get(target) ?? 0;
        const count = Number(row["polls"]);
        counts.set(target, count);
        if (count === before) continue;
        if (count === before + 1) polls.push({ target, life, ...now() });
        else faults.push(`${target}: one commit took the polls from ${before} to ${count}`);
      }
    },
  };
}

/** A store that is just being made has none yet. */
function hasTargets(database: DatabaseSync): boolean {
  const found = database.prepare("select 1 from sqlite_schema where name = 'targets'").get();
  return found !== undefined;
}
