import type { Status } from "../../../src/fleet/model.ts";
import type { PollRecord } from "../../sim/oracle/truth.ts";
import { nameAt, statusAt } from "./script.ts";
import type { Script, ScriptSandbox, ScriptServer } from "./script.ts";

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
export interface ShownFleet {
  readonly servers: ReadonlyMap<ScriptServer, Status>;
  readonly sandboxes: ReadonlyMap<ScriptSandbox, Status>;
}

export function shownAt(
  { servers, sandboxes, turns }: Script,
  turn: number,
  worldMs: number,
): ShownFleet {
  const { outcome, hidden } = turns[turn] ?? { outcome: "timeout", hidden: 0 };
  const shown = {
    servers: new Map<ScriptServer, Status>(),
    sandboxes: new Map<ScriptSandbox, Status>(),
  };
  if (outcome !== "complete" && outcome !== "partial") return shown;
  const isHidden = (bit: number): boolean => outcome === "partial" && ((hidden >> bit) & 1) === 1;
  for (const [at, server] of servers.entries()) {
    const status = statusAt(server, worldMs);
    if (status !== null && !isHidden(at)) shown.servers.set(server, status);
  }
  for (const [at, sandbox] of sandboxes.entries()) {
    const status = statusAt(sandbox, worldMs);
    const isOwn = status !== null && !isHidden(mostServers + at);
    const hasServers = shown.servers.keys().some((each) => each.sandboxId === sandbox.sandboxId);
    if (isOwn || hasServers) shown.sandboxes.set(sandbox, status ?? "idle");
  }
  return shown;
}

const mostServers = 5;

/** The polls of a script that were kept, with what they observed of servers or sandboxes. */
export function recordsOf(
  script: Script,
  of: "servers" | "sandboxes" = "servers",
): readonly PollRecord[] {
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
    const shown = shownAt(script, at, moment.worldMs);
    const servers = shown.servers.entries().map(([server, status]) => {
      const name = nameAt(server, moment.worldMs) ?? "";
      return [`${server.sandboxId} ${server.serverId}`, { status, name }] as const;
    });
    const sandboxes = shown.sandboxes.entries().map(([{ sandboxId, benchmark }, status]) => {
      return [sandboxId, { status, name: benchmark ?? "" }] as const;
    });
    records.push({
      utcMs: moment.utcMs,
      elapsedMs: broken || last === null ? inUtcMs : moment.worldMs - last.worldMs,
      unbroken: !broken,
      accepted: outcome === "complete" || outcome === "partial",
      complete: outcome === "complete",
      shown: new Map(of === "servers" ? servers : sandboxes),
    });
    broken = false;
    last = moment;
  }
  return records;
}
