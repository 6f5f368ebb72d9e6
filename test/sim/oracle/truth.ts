import type { Presence, ShownServer, Status } from "../history.ts";

/** A poll that was kept, and what it saw. */
export interface PollRecord {
  readonly utcMs: number;
  /** Since the one before that was kept: on the wall clock where nothing else knows. */
  readonly elapsedMs: number;
  /** Whether one process watched all through, from the poll before that was kept. */
  readonly unbroken: boolean;
  readonly accepted: boolean;
  readonly complete: boolean;
  /** The servers that the process could not read at its start, and that one before knew. */
  readonly forgotten: ReadonlySet<string>;
  /** What it listed, by sandbox and server id. */
  readonly shown: ReadonlyMap<string, ShownServer>;
}

/** A server in a stretch; null: nobody saw what it was in. */
export interface TrueServer {
  readonly server: string;
  readonly name: string;
  readonly status: Status | null;
}

/** A stretch from one kept poll to the next one. */
export interface TrueStretch {
  readonly fromMs: number;
  readonly toMs: number;
  readonly observed: boolean;
  /** The servers that were known throughout. */
  readonly servers: readonly TrueServer[];
}

export interface TrueChange {
  readonly atMs: number;
  readonly server: string;
  /** Under which name what ended is accounted for: the one that it was listed with until then. */
  readonly name: string;
  readonly from: Presence;
  readonly to: Presence;
  readonly dwellMs: number | null;
}

/** A server was missing from a listing, or came back just as it was. */
export interface TrueGap {
  readonly atMs: number;
  readonly server: string;
  readonly kind: "missing" | "seen";
  readonly status: Status;
}

export interface Truth {
  readonly stretches: readonly TrueStretch[];
  readonly changes: readonly TrueChange[];
  readonly gaps: readonly TrueGap[];
}

/**
 * What can be known of a target from its polls, found the slow way: each question is answered from
 * all polls so far, and nothing is carried from one to the next.
 */
export function truthOf(
  records: readonly PollRecord[],
  servers: readonly string[],
  goneAfter: number,
): Truth {
  /** What was known after a poll; with the next one as `by`, what the process of that one knew of it. */
  const lastShown = (server: string, poll: number, by = poll): number => {
    const shown = records.findLastIndex((each, at) => at <= poll && each.shown.has(server));
    const isForgotten = records.slice(shown + 1, by + 1).some((each) => each.forgotten.has(server));
    return isForgotten ? -1 : shown;
  };
  /** How many complete listings in a row lacked it; null: it is not known, or not any more. */
  const missing = (server: string, poll: number, by = poll): number | null => {
    const shown = lastShown(server, poll, by);
    if (shown < 0) return null;
    const lacking = records.slice(shown + 1, poll + 1).filter(({ complete }) => complete).length;
    return lacking >= goneAfter ? null : lacking;
  };
  const shownLast = (server: string, poll: number): ShownServer | undefined =>
    records[lastShown(server, poll)]?.shown.get(server);
  const presence = (server: string, poll: number, by = poll): Presence =>
    missing(server, poll, by) === null ? "absent" : (shownLast(server, poll)?.status ?? "absent");
  const isObserved = (poll: number): boolean =>
    records[poll]?.unbroken === true &&
    records[poll].complete &&
    records[poll - 1]?.complete === true;

  const isChange = (server: string, poll: number): boolean =>
    presence(server, poll) !== presence(server, poll - 1, poll);
  const beganInSight = (server: string, poll: number): boolean =>
    isObserved(poll) && (missing(server, poll - 1) ?? 0) === 0;
  const dwellUntil = (server: string, poll: number): number | null => {
    let began = poll - 1;
    while (began >= 0 && !isChange(server, began)) began--;
    const endedInSight = isObserved(poll) && missing(server, poll - 1) === 0;
    if (began < 0 || !endedInSight || !beganInSight(server, began)) return null;
    return records.slice(began + 1, poll + 1).reduce((ms, each, at) => {
      const inSight = each.unbroken && each.accepted && records[began + at]?.accepted === true;
      return ms + (inSight ? each.elapsedMs : 0);
    }, 0);
  };
  const nameOf = (server: string, poll: number): string => shownLast(server, poll)?.name ?? "";

  const stretches: TrueStretch[] = [];
  const changes: TrueChange[] = [];
  const gaps: TrueGap[] = [];
  for (const [poll, { utcMs, elapsedMs }] of records.entries()) {
    const known = servers.filter((server) => missing(server, poll - 1, poll) !== null);
    stretches.push({
      fromMs: utcMs - elapsedMs,
      toMs: utcMs,
      observed: isObserved(poll),
      servers: known.map((server) => {
        const status = presence(server, poll - 1);
        const isSeen = isObserved(poll) && missing(server, poll - 1) === 0;
        const name = nameOf(server, poll - 1);
        return { server, name, status: isSeen && status !== "absent" ? status : null };
      }),
    });
    for (const server of servers) {
      const [from, to] = [presence(server, poll - 1, poll), presence(server, poll)];
      if (from !== to) {
        const dwellMs = from === "absent" ? null : dwellUntil(server, poll);
        const name = nameOf(server, poll - 1);
        changes.push({ atMs: utcMs, server, name, from, to, dwellMs });
      } else if (to !== "absent") {
        const [before, now] = [missing(server, poll - 1) ?? 0, missing(server, poll) ?? 0];
        if (before === 0 && now > 0)
          gaps.push({ atMs: utcMs, server, kind: "missing", status: to });
        if (before > 0 && now === 0) gaps.push({ atMs: utcMs, server, kind: "seen", status: to });
      }
    }
  }
  return { stretches, changes, gaps };
}
