import type { Presence, Status } from "../../../src/fleet/model.ts";
import type { PollRecord } from "./poll-record.ts";
import type { ScriptServer } from "./script.ts";

/** A stretch from one kept poll to the next one. */
export interface TrueStretch {
  readonly fromMs: number;
  readonly toMs: number;
  readonly watched: boolean;
  /** The servers that were known throughout; null: nobody saw what this one was in. */
  readonly servers: readonly { readonly server: ScriptServer; readonly status: Status | null }[];
}

export interface TrueChange {
  readonly atMs: number;
  readonly server: ScriptServer;
  readonly from: Presence;
  readonly to: Presence;
  readonly dwellMs: number | null;
}

/** A server went out of sight, or came back just as it was. */
export interface TrueLapse {
  readonly atMs: number;
  readonly server: ScriptServer;
  readonly kind: "missing" | "seen";
  readonly status: Status;
}

export interface Truth {
  readonly stretches: readonly TrueStretch[];
  readonly changes: readonly TrueChange[];
  readonly lapses: readonly TrueLapse[];
}

/**
 * What can be known of a world from the polls of it, found the slow way: each question is answered
 * from all polls so far, and nothing is carried from one to the next.
 */
export function truthOf(
  records: readonly PollRecord[],
  servers: readonly ScriptServer[],
  goneAfter: number,
): Truth {
  const lastShown = (server: ScriptServer, poll: number): number =>
    records.findLastIndex(({ shown }, at) => at <= poll && shown.has(server));
  /** How many complete listings in a row lacked it; null: it is not known, or not any more. */
  const missing = (server: ScriptServer, poll: number): number | null => {
    const shown = lastShown(server, poll);
    if (shown < 0) return null;
    const lacking = records.slice(shown + 1, poll + 1).filter(({ complete }) => complete).length;
    return lacking >= goneAfter ? null : lacking;
  };
  const presence = (server: ScriptServer, poll: number): Presence =>
    missing(server, poll) === null
      ? "absent"
      : (records[lastShown(server, poll)]?.shown.get(server) ?? "absent");
  const isWatched = (poll: number): boolean =>
    records[poll]?.unbroken === true &&
    records[poll].complete &&
    records[poll - 1]?.complete === true;

  const isChange = (server: ScriptServer, poll: number): boolean =>
    presence(server, poll) !== presence(server, poll - 1);
  const beganInSight = (server: ScriptServer, poll: number): boolean =>
    isWatched(poll) && (missing(server, poll - 1) ?? 0) === 0;
  const stayUntil = (server: ScriptServer, poll: number): number | null => {
    let began = poll - 1;
    while (began >= 0 && !isChange(server, began)) began--;
    const endedInSight = isWatched(poll) && missing(server, poll - 1) === 0;
    if (began < 0 || !endedInSight || !beganInSight(server, began)) return null;
    return records.slice(began + 1, poll + 1).reduce((ms, each, at) => {
      const inSight = each.unbroken && each.accepted && records[began + at]?.accepted === true;
      return ms + (inSight ? each.elapsedMs : 0);
    }, 0);
  };

  const stretches: TrueStretch[] = [];
  const changes: TrueChange[] = [];
  const lapses: TrueLapse[] = [];
  for (const [poll, { utcMs, elapsedMs }] of records.entries()) {
    const known = servers.filter((server) => missing(server, poll - 1) !== null);
    stretches.push({
      fromMs: utcMs - elapsedMs,
      toMs: utcMs,
      watched: isWatched(poll),
      servers: known.map((server) => {
        const status = presence(server, poll - 1);
        const isSeen = isWatched(poll) && missing(server, poll - 1) === 0;
        return { server, status: isSeen && status !== "absent" ? status : null };
      }),
    });
    for (const server of servers) {
      const [from, to] = [presence(server, poll - 1), presence(server, poll)];
      if (from !== to) {
        const dwellMs = from === "absent" ? null : stayUntil(server, poll);
        changes.push({ atMs: utcMs, server, from, to, dwellMs });
      } else if (to !== "absent") {
        const [before, now] = [missing(server, poll - 1) ?? 0, missing(server, poll) ?? 0];
        if (before === 0 && now > 0)
          lapses.push({ atMs: utcMs, server, kind: "missing", status: to });
        if (before > 0 && now === 0) lapses.push({ atMs: utcMs, server, kind: "seen", status: to });
      }
    }
  }
  return { stretches, changes, lapses };
}
