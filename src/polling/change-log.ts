import { setImmediate } from "node:timers/promises";
import { conditionOfStatus } from "../core/condition.ts";
import { counted } from "../core/counted.ts";
import { serverText } from "../core/incident.ts";
import type { Verdict } from "../core/judge.ts";
import { presences, statuses, targetName } from "../core/model.ts";
import type { Target } from "../core/model.ts";
import { changeIn } from "../core/snapshot/changes.ts";
import type { Change, Changes } from "../core/snapshot/changes.ts";
import { changeWords, sandboxIdAt } from "../core/snapshot/packed-changes.ts";
import { countServers } from "../core/snapshot/snapshot.ts";
import type { PackedChanges } from "../core/snapshot/packed-changes.ts";
import { streamOf, writePaced } from "../platform/logger.ts";
import type { Logger, LogLine, LogStream } from "../platform/logger.ts";
import { StampedLines } from "../platform/stamped-lines.ts";
import type { LineStamp, RecordLayout } from "../platform/stamped-lines.ts";

const stampedAtOnce = 512;
const laidOutAtOnce = 32;
const recordLayout: RecordLayout = { sandbox: sandboxIdAt, words: changeWords };
/** Of fewer changes too few are alike. */
const fewestStamped = 4_000;
/** With more the names tell servers apart, and no two lines are alike. */
const mostNames = 500;

/** Writes one line for each change. */
export class ChangeLog {
  private readonly log: Logger;
  /** Used again: mostly the same target has very many changes at poll after poll. */
  private idle: ChangeStamps | null = null;

  constructor(log: Logger) {
    this.log = log;
  }

  async write(target: Target, verdict: Verdict): Promise<void> {
    const { changes } = verdict;
    const stream = streamOf(this.log);
    if (!stream || changes.length < fewestStamped || isFirstListing(verdict)) {
      await writePaced(this.log, changeLines(target, verdict, this.log.isLevelEnabled("debug")));
      return;
    }
    const stamps = this.idle ?? new ChangeStamps(stream);
    this.idle = null;
    stamps.beginFor(target);
    await stampChanges(stamps, changes);
    if (!stamps.isOutgrown) this.idle = stamps;
  }
}

/** Of very many changes nearly all lines are alike but for ids: each such line is made once. */
async function stampChanges(stamps: ChangeStamps, changes: Changes): Promise<void> {
  let left = changes.length;
  for (const piece of changes.pieces()) {
    // Behind them come lapses.
    const count = Math.min(left, piece.length);
    left -= count;
    for (let first = 0; first < count;) {
      await setImmediate();
      first = stamps.write(piece, first, Math.min(count, first + stampedAtOnce));
    }
    changes.leave(piece);
    if (left === 0) return;
  }
}

/** By `from` and `to`; null where there is none. */
type StampsOfName = (LineStamp | null | undefined)[];

/** The stamps of changes' lines, each made once for all that are alike, as far as there are not too many. */
class ChangeStamps {
  private readonly lines: StampedLines;
  private target: Target = { region: "", key: "" };
  private readonly byName = new Map<string | null, StampsOfName>();
  /** In the batch that is written. */
  private laidOut = 0;

  constructor(stream: LogStream) {
    this.lines = new StampedLines(stream, recordLayout);
  }

  /** Those of the target that was logged last are kept, unless there would be no room for new ones. */
  beginFor(target: Target): void {
    const isSame = targetName(this.target) === targetName(target);
    this.target = target;
    if (isSame && !this.lines.isCrowded && this.byName.size < mostNames) return;
    this.lines.forgetStamps();
    this.byName.clear();
  }

  /** Whether it takes more memory than it needs mostly. */
  get isOutgrown(): boolean {
    return this.lines.isOutgrown;
  }

  /**
   * Writes the lines of some changes of a piece.
   *
   * @returns where it ended, which is earlier where many stamps were made: each takes as long as many lines
   */
  write(piece: PackedChanges, first: number, end: number): number {
    this.lines.begin();
    const written = this.put(piece, first, end);
    this.lines.write();
    return written;
  }

  private put(piece: PackedChanges, first: number, end: number): number {
    const { lines, target } = this;
    const ofNames: (StampsOfName | null | undefined)[] = [];
    this.laidOut = 0;
    for (let change = first; change < end; change++) {
      if (this.laidOut === laidOutAtOnce) return change;
      const ofName = (ofNames[piece.nameNumber(change)] ??= this.ofName(piece.serverName(change)));
      const stamp = ofName && piece.hasUuids(change) ? this.stampOf(ofName, piece, change) : null;
      if (stamp) lines.putStamped(stamp, piece.words, change * changeWords);
      else lines.put(changeLine(target, changeIn(piece, change)));
    }
    return end;
  }

  private stampOf(ofName: StampsOfName, piece: PackedChanges, change: number): LineStamp | null {
    const transition = piece.fromNumber(change) * presences.length + piece.toNumber(change);
    const known = ofName[transition];
    return known === undefined ? (ofName[transition] = this.layOut(piece, change)) : known;
  }

  /** Apart from the others: it is seldom called, and what it closes over would be made each time. */
  private layOut(piece: PackedChanges, change: number): LineStamp | null {
    this.laidOut++;
    const told = changeIn(piece, change);
    return this.lines.layOut((ids) => changeLine(this.target, { ...told, ...ids }));
  }

  private ofName(serverName: string | null): StampsOfName | null {
    const ofName = this.byName.get(serverName) ?? (this.byName.size < mostNames ? [] : null);
    if (ofName) this.byName.set(serverName, ofName);
    return ofName;
  }
}

/** What a first listing shows did not change while it was watched: it is counted, and named for debugging only. */
function* changeLines(target: Target, verdict: Verdict, isDebugging: boolean): Iterator<LogLine> {
  const isFirst = isFirstListing(verdict);
  if (isFirst) yield firstListingLine(target, verdict);
  if (isFirst && !isDebugging) return;
  for (const change of verdict.changes) {
    const line = changeLine(target, change);
    yield isFirst ? { ...line, level: "debug" } : line;
  }
}

function firstListingLine(target: Target, { snapshot, changes }: Verdict): LogLine {
  const { region, key } = target;
  const counts = countServers(snapshot);
  const present = statuses.filter((status) => counts[status] > 0);
  const inWords = present.map((status) => `${counts[status]} ${conditionOfStatus(status)}`);
  return {
    level: "info",
    fields: { event: "target.first_listing", region, key, servers: changes.length, ...counts },
    msg: `${targetName(target)} lists ${counted(changes.length, "server")}: ${inWords.join(", ")}`,
  };
}

function isFirstListing({ progress }: Verdict): boolean {
  return progress.observed.polls === 1;
}

function changeLine(
  target: Target,
  { sandboxId, serverId, serverName, from, to }: Omit<Change, "stayMs">,
): LogLine {
  const { region, key } = target;
  return {
    level: "info",
    fields: {
      event: "server.changed",
      region,
      key,
      sandbox_id: sandboxId,
      server_id: serverId,
      server_name: serverName,
      from,
      to,
    },
    msg: `${targetName(target)} ${serverText({ serverId, serverName })}: ${from} -> ${to}`,
  };
}
