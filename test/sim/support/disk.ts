import type { DatabaseSync } from "node:sqlite";
import type { StoreOutage } from "../history.ts";
import { longestOutageMs } from "../scenario.ts";
import { atTimes, type World } from "./world.ts";

const readOnly = { errcode: 8, errstr: "attempt to write a readonly database" };

const writing = /^\s*(insert|update|delete|create|drop|begin (immediate|exclusive))\b/i;

const refusals = [
  { errcode: 5, errstr: "database is locked", endsTransaction: false },
  { errcode: 13, errstr: "database or disk is full", endsTransaction: true },
  { errcode: 10, errstr: "disk I/O error", endsTransaction: true },
] as const;

export type Disk = ReturnType<typeof createDisk>;

/** A disk that refuses statements, or is slow, for a while. */
export function createDisk({ time, dice: all }: World) {
  const dice = all.fork("disk");
  let present: { readonly refuses: number; readonly stalls: number } | null = null;
  let isReadOnly = false;
  const outages: StoreOutage[] = [];
  const faults = new Map<number, number>();
  const stalls = new Map<number, number>();
  const beginOutage = (what: StoreOutage["what"]): void =>
    void outages.push({ fromMs: time.nowMs, toMs: Infinity, what });
  const endOutage = (what: StoreOutage["what"]): void => {
    const last = outages.findLast((each) => each.what === what);
    if (last) last.toMs = Math.min(last.toMs, time.nowMs);
  };
  const refuse = (life: number, error: { readonly errcode: number; readonly errstr: string }) => {
    faults.set(time.now().moment, life);
    const { errcode, errstr } = error;
    throw Object.assign(new Error(errstr), { code: "ERR_SQLITE_ERROR", errcode, errstr });
  };
  return {
    outages,
    faults,
    stalls,
    /** @param trouble the shares of statements that are refused and that are slow */
    begin(trouble: { readonly refuses: number; readonly stalls: number }): void {
      endOutage("refuses everything");
      present = trouble;
      if (trouble.refuses >= 1) beginOutage("refuses everything");
    },
    end(): void {
      endOutage("refuses everything");
      present = null;
    },
    /** From now on writes are refused, and reads are not. */
    beginReadOnly(): void {
      if (!isReadOnly) beginOutage("is read-only");
      isReadOnly = true;
    },
    endReadOnly(): void {
      endOutage("is read-only");
      isReadOnly = false;
    },
    /** Called before each statement. Throws as SQLite does, or lets time pass. */
    beforeStatement(database: DatabaseSync, sql: string, life: number): void {
      if (isReadOnly && writing.test(sql)) refuse(life, readOnly);
      if (!present || sql === "rollback") return;
      if (dice.chance(present.stalls)) {
        const { moment } = time.now();
        const ms = dice.between(1, 2_500);
        stalls.set(moment, (stalls.get(moment) ?? 0) + ms);
        time.stall(ms);
      }
      if (!dice.chance(present.refuses)) return;
      const refusal = dice.pick([refusals[0], ...refusals]);
      if (refusal.endsTransaction && database.isTransaction) database.exec("rollback");
      refuse(life, refusal);
    },
  };
}

const minuteMs = 60_000;

/** Makes the disk read-only for some minutes. */
export function beginDiskFaults(world: World, disk: Disk): void {
  const { scenario, time } = world;
  const { intervalMs, calmMs } = scenario;
  const dice = world.dice.fork("store chaos");
  const lastsMs = (own: typeof dice): number => {
    const ms = Math.max(3 * minuteMs, (0.5 + own.random() * 5) * intervalMs);
    return Math.min(ms, longestOutageMs, calmMs - time.nowMs);
  };

  const readOnlyDice = dice.fork("read-only disk");
  atTimes(world, readOnlyDice, readOnlyDice.pick([0, 0, 0, 1, 2]), calmMs, () => {
    world.log("the store is on a read-only disk");
    disk.beginReadOnly();
    time.setTimer(lastsMs(readOnlyDice), () => {
      world.log("the store can be written again");
      disk.endReadOnly();
    });
  });
}
