import type { DatabaseSync } from "node:sqlite";
import type { StoreOutage } from "../history.ts";
import type { Dice } from "./dice.ts";
import type { WorldTime } from "./world-time.ts";

/** What the disk does to statements, each for a while. */
export interface StoreTroubles {
  begin(trouble: { readonly refuses: number; readonly stalls: number }): void;
  end(): void;
  /** From now on what writes is refused, and what reads is not. */
  beginReadOnly(): void;
  endReadOnly(): void;
  /** The store of a process takes nothing in this moment. */
  markFault(life: number): void;
  /** Throws as SQLite does, or lets time pass. */
  befall(database: DatabaseSync, sql: string): void;
  /** When every statement was refused. */
  readonly outages: readonly StoreOutage[];
  /** The moments in which a statement was refused. */
  readonly faults: ReadonlyMap<number, number>;
  /** How long statements took, by moment. */
  readonly stalls: ReadonlyMap<number, number>;
}

const readOnly = { errcode: 8, errstr: "attempt to write a readonly database" } as const;

const writing = /^\s*(insert|update|delete|create|drop|begin (immediate|exclusive))\b/i;

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
  const beginOutage = (what: StoreOutage["what"]): void =>
    void outages.push({ fromMs: time.nowMs, toMs: Infinity, life: null, what });
  const endOutage = (what: StoreOutage["what"]): void => {
    const last = outages.findLast((each) => each.what === what);
    if (last) last.toMs = Math.min(last.toMs, time.nowMs);
  };
  let isReadOnly = false;
  const faults = new Map<number, number>();
  const stalls = new Map<number, number>();
  return {
    begin(trouble) {
      endOutage("refuses everything");
      present = trouble;
      if (trouble.refuses >= 1) beginOutage("refuses everything");
    },
    end() {
      endOutage("refuses everything");
      present = null;
    },
    beginReadOnly() {
      if (!isReadOnly) beginOutage("is read-only");
      isReadOnly = true;
    },
    endReadOnly() {
      endOutage("is read-only");
      isReadOnly = false;
    },
    markFault: (number) => void faults.set(time.moment, number),
    outages,
    befall(database, sql) {
      if (isReadOnly && writing.test(sql)) {
        faults.set(time.moment, life());
        throw sqliteError(readOnly);
      }
      if (!present || sql === "rollback") return;
      if (dice.chance(present.stalls)) {
        const ms = dice.between(1, 2_500);
        stalls.set(time.moment, (stalls.get(time.moment) ?? 0) + ms);
        time.stall(ms);
      }
      if (!dice.chance(present.refuses)) return;
      faults.set(time.moment, life());
      const refusal = dice.pick([refusals[0], ...refusals]);
      if (refusal.endsTransaction && database.isTransaction) database.exec("rollback");
      throw sqliteError(refusal);
    },
    faults,
    stalls,
  };
}

function sqliteError({ errcode, errstr }: { readonly errcode: number; readonly errstr: string }) {
  return Object.assign(new Error(errstr), { code: "ERR_SQLITE_ERROR", errcode, errstr });
}
