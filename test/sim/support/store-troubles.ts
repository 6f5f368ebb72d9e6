import type { DatabaseSync } from "node:sqlite";
import type { StoreOutage } from "../history.ts";
import type { Dice } from "./dice.ts";
import type { WorldTime } from "./world-time.ts";

/** What the disk does to statements, each for a while. */
export interface StoreTroubles {
  begin(trouble: { readonly refuses: number; readonly stalls: number }): void;
  end(): void;
  /** Throws as SQLite does, or lets time pass. */
  befall(database: DatabaseSync, sql: string): void;
  /** When every statement was refused. */
  readonly outages: readonly StoreOutage[];
  /** The moments in which a statement was refused. */
  readonly faults: ReadonlyMap<number, number>;
  /** How long statements took, by moment. */
  readonly stalls: ReadonlyMap<number, number>;
}

const refusals = [
  { errcode: 5, errstr: "database is locked", endsTransaction: false },
  { errcode: 13, errstr: "database or disk is full", endsTransaction: true },
  { errcode: 10, errstr: "disk I/O error", endsTransaction: true },
] as const;

export function createStoreTroubles(
  time: WorldTime,
  dice: Dice,
  life: () => number,
): StoreTroubles {
  let present: { readonly refuses: number; readonly stalls: number } | null = null;
  const outages: StoreOutage[] = [];
  const endOutage = (): void => {
    const last = outages.at(-1);
    if (last) last.toMs = Math.min(last.toMs, time.nowMs);
  };
  const faults = new Map<number, number>();
  const stalls = new Map<number, number>();
  return {
    begin(trouble) {
      endOutage();
      present = trouble;
      if (trouble.refuses < 1) return;
      outages.push({ fromMs: time.nowMs, toMs: Infinity, what: "refuses everything" });
    },
    end() {
      endOutage();
      present = null;
    },
    outages,
    befall(database, sql) {
      if (!present || sql === "rollback") return;
      if (dice.chance(present.stalls)) {
        const ms = dice.between(1, 2_500);
        stalls.set(time.moment, (stalls.get(time.moment) ?? 0) + ms);
        time.stall(ms);
      }
      if (!dice.chance(present.refuses)) return;
      faults.set(time.moment, life());
      const { errcode, errstr, endsTransaction } = dice.pick([refusals[0], ...refusals]);
      if (endsTransaction && database.isTransaction) database.exec("rollback");
      throw Object.assign(new Error(errstr), { code: "ERR_SQLITE_ERROR", errcode, errstr });
    },
    faults,
    stalls,
  };
}
