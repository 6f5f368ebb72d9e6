import type { Status } from "../../../src/fleet/model.ts";
import type { PollRecord } from "../../sim/oracle/truth.ts";
import { statusAt, type Script, type ScriptServer } from "./script.ts";

/** A turn with the moment at which it comes. */
export interface Moment {
  /** Since the world began. */
  readonly worldMs: number;
  readonly utcMs: number;
}

export const scriptStartUtcMs = Date.UTC(2026, 10, 20, 9, 58, 20);

export function momentsOf({ turns }: Script): readonly Moment[] {
  let worldMs = 0;
  let offsetMs = scriptStartUtcMs;
  return turns.map(({ waitMs, roundMs, steppedMs }) => {
    offsetMs += steppedMs;
    const utcMs = Math.ceil((worldMs + waitMs + offsetMs) / roundMs) * roundMs;
    worldMs = utcMs - offsetMs;
    return { worldMs, utcMs };
  });
}

/** What a turn's listing holds; nothing where it has none. */
export function shownAt(
  { servers, turns }: Script,
  turn: number,
  worldMs: number,
): ReadonlyMap<ScriptServer, Status> {
  const { outcome, hidden } = turns[turn] ?? { outcome: "timeout", hidden: 0 };
  const isListed = outcome === "complete" || outcome === "partial";
  const shown = new Map<ScriptServer, Status>();
  for (const [at, server] of (isListed ? servers : []).entries()) {
    const status = statusAt(server, worldMs);
    const isHidden = outcome === "partial" && ((hidden >> at) & 1) === 1;
    if (status !== null && !isHidden) shown.set(server, status);
  }
  return shown;
}

/** The polls of a script that were kept. */
export function recordsOf(script: Script): readonly PollRecord[] {
  const moments = momentsOf(script);
  const records: PollRecord[] = [];
  let last: Moment | null = null;
  let broken = true;
  for (const [at, { restarts, kept, outcome }] of script.turns.entries()) {
    const moment = moments[at];
    if (!moment) break;
    if (restarts) broken = true;
    if (!kept) {
      broken = true;
      continue;
    }
    const inUtcMs = last === null ? 0 : Math.max(0, moment.utcMs - last.utcMs);
    const shown = shownAt(script, at, moment.worldMs).entries();
    records.push({
      utcMs: moment.utcMs,
      elapsedMs: broken || last === null ? inUtcMs : moment.worldMs - last.worldMs,
      unbroken: !broken,
      accepted: outcome === "complete" || outcome === "partial",
      complete: outcome === "complete",
      forgotten: new Set(),
      shown: new Map(
        shown.map(([{ sandboxId, serverId, serverName }, status]) => [
          `${sandboxId} ${serverId}`,
          { status, name: serverName ?? "" },
        ]),
      ),
    });
    broken = false;
    last = moment;
  }
  return records;
}
