import type { Presence, Status } from "../history.ts";
import type { Shown } from "./evidence.ts";

/** A poll that was stored, and what it observed. */
export interface PollRecord {
  readonly utcMs: number;
  /** Since the stored poll before: on the wall clock after a restart. */
  readonly elapsedMs: number;
  /** Whether one process observed all the time since the stored poll before. */
  readonly unbroken: boolean;
  readonly accepted: boolean;
  readonly complete: boolean;
  /** What it listed: servers by sandbox and server id, or sandboxes. */
  readonly shown: ReadonlyMap<string, Shown>;
}

/** Between two observed polls the clocks may differ by less without one of them having been set. */
export const slackMs = 1_000;

/** The time from one stored poll to the next one. */
export interface TrueStretch {
  readonly fromMs: number;
  readonly toMs: number;
  readonly observed: boolean;
  /** The servers that were known throughout; null: the status was not observed. */
  readonly servers: readonly {
    readonly server: string;
    readonly name: string;
    readonly status: Status | null;
  }[];
}

export interface TrueChange {
  readonly atMs: number;
  readonly server: string;
  /** The name that the ended status is accounted under: the last one that was listed before. */
  readonly name: string;
  readonly from: Presence;
  readonly to: Presence;
  readonly dwellMs: number | null;
  /** Of a server that was missing from a listing, listed again with the same status, or renamed. */
  readonly observation: "missing" | "seen" | "updated" | null;
}

/** The time of the calendar that is recorded: it stands while the wall clock that was set back catches up. */
export function recordedUntil(records: readonly Pick<PollRecord, "utcMs">[], poll: number): number {
  return Math.max(...records.slice(0, Math.max(poll, 0) + 1).map(({ utcMs }) => utcMs));
}

export type Truth = ReturnType<typeof truthOf>;

/**
 * What can be known of a target from its polls, found the slow way: each question is answered from
 * all polls so far, and nothing is carried from one to the next.
 */
export function truthOf(records: readonly PollRecord[], goneAfter: number) {
  const servers = new Set(records.flatMap(({ shown }) => [...shown.keys()]));
  /** The last poll that listed it; -1: none did. */
  const lastShown = (server: string, poll: number): number =>
    records.findLastIndex((each, at) => at <= poll && each.shown.has(server));
  /** How many complete listings in a row lacked it; null: it is not known, or not any more. */
  const missing = (server: string, poll: number): number | null => {
    const shown = lastShown(server, poll);
    if (shown < 0) return null;
    const lacking = records.slice(shown + 1, poll + 1).filter(({ complete }) => complete).length;
    return lacking >= goneAfter ? null : lacking;
  };
  const shownLast = (server: string, poll: number): Shown | undefined =>
    records[lastShown(server, poll)]?.shown.get(server);
  const presence = (server: string, poll: number): Presence =>
    missing(server, poll) === null ? "absent" : (shownLast(server, poll)?.status ?? "absent");
  const isObserved = (poll: number): boolean =>
    records[poll]?.unbroken === true &&
    records[poll].complete &&
    records[poll - 1]?.complete === true;
  /** A wall clock that jumped forward between two complete listings shows time that nobody observed. */
  const isMomentKnown = (poll: number): boolean => {
    const record = records[poll];
    if (!record || !isObserved(poll)) return false;
    const passedMs = recordedUntil(records, poll) - recordedUntil(records, poll - 1);
    return passedMs - record.elapsedMs <= slackMs;
  };
  const nameOf = (server: string, poll: number): string => shownLast(server, poll)?.name ?? "";

  const isChange = (server: string, poll: number): boolean =>
    presence(server, poll) !== presence(server, poll - 1);
  const dwellUntil = (server: string, poll: number): number | null => {
    let began = poll - 1;
    while (began >= 0 && !isChange(server, began)) began--;
    const isVague = (at: number): boolean => records[at]?.shown.get(server)?.isVague ?? false;
    const isBeginKnown =
      isMomentKnown(began) && (missing(server, began - 1) ?? 0) === 0 && !isVague(began);
    const isEndKnown = isMomentKnown(poll) && missing(server, poll - 1) === 0 && !isVague(poll);
    if (began < 0 || !isEndKnown || !isBeginKnown) return null;
    return records.slice(began + 1, poll + 1).reduce((ms, each, at) => {
      const isUp = each.unbroken && each.accepted && records[began + at]?.accepted === true;
      return ms + (isUp ? each.elapsedMs : 0);
    }, 0);
  };

  const changeAt = (server: string, poll: number): Omit<TrueChange, "atMs"> | null => {
    const [from, to] = [presence(server, poll - 1), presence(server, poll)];
    const name = nameOf(server, poll - 1);
    if (from !== to) {
      const dwellMs = from === "absent" ? null : dwellUntil(server, poll);
      return { server, name, from, to, dwellMs, observation: null };
    }
    const wasMissing = (missing(server, poll - 1) ?? 0) > 0;
    const isMissing = (missing(server, poll) ?? 0) > 0;
    const isRenamed = name !== nameOf(server, poll);
    if (to === "absent" || (wasMissing === isMissing && !isRenamed)) return null;
    const interruption = isMissing ? "missing" : "seen";
    const observation = wasMissing === isMissing ? "updated" : interruption;
    return { server, name, from, to, dwellMs: null, observation };
  };

  const stretches: TrueStretch[] = [];
  const changes: TrueChange[] = [];
  for (const [poll, { elapsedMs }] of records.entries()) {
    const observed = isObserved(poll);
    const [beforeMs, utcMs] = [recordedUntil(records, poll - 1), recordedUntil(records, poll)];
    const startMs = observed && !isMomentKnown(poll) ? utcMs - elapsedMs : beforeMs;
    const known = [...servers].filter((server) => missing(server, poll - 1) !== null);
    const lost = known.map((server) => {
      return { server, name: nameOf(server, poll - 1), status: null };
    });
    if (startMs > beforeMs) {
      stretches.push({ fromMs: beforeMs, toMs: startMs, observed: false, servers: lost });
    }
    stretches.push({
      fromMs: startMs,
      toMs: utcMs,
      observed,
      servers: known.map((server) => {
        const status = presence(server, poll - 1);
        const isListed = observed && missing(server, poll - 1) === 0;
        const name = nameOf(server, poll - 1);
        return { server, name, status: isListed && status !== "absent" ? status : null };
      }),
    });
    for (const server of servers) {
      const change = changeAt(server, poll);
      if (change) changes.push({ atMs: utcMs, ...change });
    }
  }
  return {
    stretches,
    changes,
    /** The servers that are known after a poll. */
    known: (poll: number): ReadonlyMap<string, Shown> =>
      new Map(
        [...servers].flatMap((server) => {
          const shown = shownLast(server, poll);
          return shown && missing(server, poll) !== null ? [[server, shown]] : [];
        }),
      ),
  };
}
