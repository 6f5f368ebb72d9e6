import { statuses } from "../history.ts";
import type { ByStatus, History, ShownServer, Status } from "../history.ts";
import type { Scenario, ScenarioTarget } from "../scenario.ts";
import { keptEndsOf } from "./poll-records.ts";
import type { KeptEnd } from "./poll-records.ts";

/** What is known of the servers of a target after a poll. */
export interface TargetSight {
  /** Whether the last poll showed all of it. */
  readonly whole: boolean;
  /** How many servers there are, by name and status. */
  readonly counts: ReadonlyMap<string, ByStatus<number>>;
  /** Every name that this process has known, also of no server any more. */
  readonly names: ReadonlySet<string>;
}

/** A poll of a target, or one that came to nothing, with what is known after it. */
export interface TargetEvent {
  readonly target: ScenarioTarget;
  readonly life: number;
  /** The moments in which it can have come into force. */
  readonly earliest: number;
  readonly latest: number;
  /** Whether it happened. */
  readonly certain: boolean;
  readonly after: TargetSight;
  /** Null: it came to nothing. */
  readonly poll: KeptEnd | null;
}

interface Known extends ShownServer {
  /** How many complete listings in a row lacked it. */
  readonly lacking: number;
}

const nothing: TargetSight = { whole: false, counts: new Map(), names: new Set() };

/** How long what a poll decided may wait until it is written together with others. */
const gatherMs = 100;

/** What became known of a target, in order. */
export function targetEvents(
  { goneAfter }: Scenario,
  history: History,
  target: ScenarioTarget,
): readonly TargetEvent[] {
  const events: TargetEvent[] = [];
  let servers: ReadonlyMap<string, Known> = new Map();
  let names: ReadonlySet<string> = new Set();
  let life = 0;
  for (const poll of keptEndsOf(history, target.name)) {
    if (poll.life !== life) names = new Set(Array.from(servers.values(), ({ name }) => name));
    life = poll.life;
    for (const lost of poll.lost) {
      const latestMs = lost.atMs + (history.stalls.get(lost.moment) ?? 0) + gatherMs;
      const latest = history.dueMs.findLastIndex((ms) => ms <= latestMs);
      const after = { ...nothing, names };
      events.push({ ...lost, target, earliest: lost.moment, latest, after, poll: null });
    }
    const { sighting, kept } = poll;
    if (sighting) {
      servers = goOn(servers, sighting.shown, sighting.complete ? goneAfter : Infinity);
      names = new Set([...names, ...Array.from(sighting.shown.values(), ({ name }) => name)]);
    }
    const whole = sighting?.complete === true;
    const after = { whole, counts: countByName(servers), names };
    const { moment } = kept;
    events.push({ target, life, earliest: moment, latest: moment, certain: true, after, poll });
  }
  return events;
}

/** @param goneAfter a server that so many complete listings lack is gone */
function goOn(
  before: ReadonlyMap<string, Known>,
  shown: ReadonlyMap<string, ShownServer>,
  goneAfter: number,
): ReadonlyMap<string, Known> {
  const after = new Map<string, Known>();
  for (const [id, server] of before) {
    const lacking = goneAfter === Infinity ? server.lacking : server.lacking + 1;
    if (lacking < goneAfter) after.set(id, { ...server, lacking });
  }
  for (const [id, server] of shown) after.set(id, { ...server, lacking: 0 });
  return after;
}

function countByName(servers: ReadonlyMap<string, Known>): ReadonlyMap<string, ByStatus<number>> {
  const byName = Map.groupBy(servers.values(), ({ name }) => name);
  return new Map(
    Array.from(byName, ([name, some]) => [
      name,
      byStatus((wanted) => some.filter(({ status }) => status === wanted).length),
    ]),
  );
}

export function byStatus(valueOf: (status: Status) => number): ByStatus<number> {
  const [idle, occupied, error, unknown] = statuses.map(valueOf);
  return { idle: idle ?? 0, occupied: occupied ?? 0, error: error ?? 0, unknown: unknown ?? 0 };
}

/**
 * What can be known of a target in a process between two moments: what came into force before, and what came
 * into force meanwhile.
 */
export function sightsBetween(
  events: readonly TargetEvent[],
  life: number,
  fromMoment: number,
  toMoment: number,
): readonly TargetSight[] {
  let sights: readonly TargetSight[] = [nothing];
  for (const event of events) {
    if (event.life !== life || event.earliest > toMoment) continue;
    const isSure = event.certain && event.latest < fromMoment;
    sights = isSure ? [event.after] : [...sights, event.after];
  }
  return sights;
}
