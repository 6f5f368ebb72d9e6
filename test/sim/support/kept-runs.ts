import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { KeptRun } from "../history.ts";

/** Notes at each commit which runs of probes it wrote, from how many and how long the store counts of each. */
export interface KeptRuns {
  committed(database: DatabaseSync, life: number): void;
  readonly runs: readonly KeptRun[];
}

/** The one place that knows how the store counts runs. */
const countRuns = `select probe, region || '/' || key as target, attempted_runs as runs, attempted_ms as ms from probes`;

export function createKeptRuns(now: () => Pick<KeptRun, "moment" | "atMs" | "utcMs">): KeptRuns {
  const runs: KeptRun[] = [];
  const counts = new Map<string, { readonly runs: number; readonly ms: number }>();
  const statements = new WeakMap<DatabaseSync, StatementSync>();
  return {
    runs,
    committed(database, life) {
      if (!hasProbes(database)) return;
      const statement = statements.get(database) ?? database.prepare(countRuns);
      statements.set(database, statement);
      for (const row of statement.all()) {
        const [probe, target] = [String(row["probe"]), String(row["target"])];
        const name = `${probe} ${target}`;
        const before = counts.get(name) ?? { runs: 0, ms: 0 };
        const after = { runs: Number(row["runs"]), ms: Number(row["ms"]) };
        counts.set(name, after);
        if (after.runs === before.runs && after.ms === before.ms) continue;
        runs.push({ probe, target, life, isCounted: after.runs > before.runs, ...now() });
      }
    },
  };
}

/** A store that is just being made has none yet. */
function hasProbes(database: DatabaseSync): boolean {
  const found = database.prepare("select 1 from sqlite_schema where name = 'probes'").get();
  return found !== undefined;
}
