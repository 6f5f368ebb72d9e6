import { longestWaitMs } from "../draw/receivers.ts";
import { listingPath, type Scenario } from "../scenario.ts";
import type { Attempt, Message, Moment, Recorded, ServiceRequest, Status } from "../history.ts";
import { readListing } from "./read-answer.ts";

/** The rule that every daemon has for its receivers. */
export const receiverRule = "receiver-failing";

/** A promise that was broken. */
export interface Violation {
  readonly text: string;
  /** Names and ids that the account of it should hold. */
  readonly about: readonly string[];
}

export function violation(text: string, ...about: readonly string[]): Violation {
  return { text, about };
}

/** All that the oracle knows of a run. */
export interface Evidence extends Recorded {
  readonly scenario: Scenario;
  /** The listings that processes received whole, in order. */
  readonly listings: readonly Listing[];
  readonly incidents: readonly NotifiedIncident[];
  /** The moments in which the store refused something, in order, by process. */
  readonly faultsByLife: ReadonlyMap<number, readonly number[]>;
}

export interface Listing extends Moment {
  readonly target: string;
  readonly life: number;
  readonly complete: boolean;
  readonly stated: Stated;
  /** The status of each server, by sandbox and server id, with what was known of it before (`statuses.ts`). */
  readonly shown: ReadonlyMap<string, ShownServer>;
  /** The same of each sandbox, by its id. */
  readonly boxes: ReadonlyMap<string, ShownBox>;
  /** The index of the request that it answers. */
  readonly request: number;
}

/** What a listing itself says. Null: no status. */
export interface Stated {
  /** By sandbox and server id. */
  readonly servers: ReadonlyMap<string, StatedServer>;
  readonly boxes: ReadonlyMap<string, Status | null>;
}

export interface StatedServer {
  readonly status: Status | null;
  readonly name: string;
}

/** Something that has a status: a server, or a sandbox, whose name is empty. */
export interface Shown {
  readonly status: Status;
  readonly name: string;
  /** Whether what the status follows from was not observed before, so that it may have begun earlier. */
  readonly isVague?: boolean;
}

export type ShownServer = Shown;

export interface ShownBox extends Shown {
  /** What it states itself; null: it has never stated one. */
  readonly own: Status | null;
}

/** An incident, as receivers were notified of it. */
export interface NotifiedIncident extends ReturnType<typeof subjectOf> {
  readonly id: string;
  readonly rule: string;
  readonly startedUtcMs: number;
  /** When the first notification came. */
  readonly notifiedMs: number;
  readonly resolved: { readonly utcMs: number; readonly reason: string | null } | null;
}

export function evidenceOf(scenario: Scenario, recorded: Recorded): Evidence {
  const incidents = withUnheard(scenario, recorded, notifiedIncidents(recorded.attempts));
  const requests = recorded.requests.map((request) => judgedByTime(request, scenario, recorded));
  const listings = listingsOf(requests);
  const byLife = Map.groupBy(recorded.storeFaults, ([, life]) => life);
  const momentsOf = (faults: readonly (readonly [number, number])[]) =>
    faults.map(([moment]) => moment);
  const faultsByLife = new Map(Array.from(byLife, ([life, faults]) => [life, momentsOf(faults)]));
  return { ...recorded, requests, scenario, listings, incidents, faultsByLife };
}

/** The wall clock may gain as much during a request without having been set. */
const clockSlackMs = 5_000;

/**
 * An answer that a process which was held up read after its time-out was too late. So was one during which the wall clock
 * jumped that far forward, as it does where the machine was suspended.
 */
function judgedByTime(
  request: ServiceRequest,
  { timeoutMs }: Scenario,
  { wallClocks }: Recorded,
): ServiceRequest {
  const { exchange } = request;
  const { sentMs, end } = exchange;
  if (end?.how !== "whole") return request;
  const sentUtcMs = sentMs + (wallClocks.findLast(({ fromMs }) => fromMs <= sentMs)?.offsetMs ?? 0);
  const isInTime = end.atMs - sentMs <= timeoutMs;
  if (isInTime && end.utcMs - sentUtcMs <= timeoutMs + clockSlackMs) return request;
  return { ...request, exchange: { ...exchange, end: { ...end, how: "abandoned" } } };
}

function listingsOf(requests: readonly ServiceRequest[]): readonly Listing[] {
  const listings = requests.flatMap(({ target, life, path, answer, exchange }, request) => {
    if (path !== listingPath || answer === null || exchange.end?.how !== "whole") return [];
    const read = readListing(answer);
    const unknown = { shown: new Map(), boxes: new Map() };
    return read ? [{ target, life, ...exchange.end, ...read, ...unknown, request }] : [];
  });
  return listings.toSorted((one, other) => one.moment - other.moment);
}

function notifiedIncidents(attempts: readonly Attempt[]): readonly NotifiedIncident[] {
  const incidents = new Map<string, NotifiedIncident>();
  for (const { message, atMs } of attempts) {
    for (const incident of message.data.incidents) {
      const { id, started_at: startedAt, resolved_at: resolvedAt } = incident;
      const known = incidents.get(id);
      if (known && (known.resolved !== null || resolvedAt === null)) continue;
      incidents.set(id, {
        id,
        rule: message.data.rule,
        ...subjectOf(incident),
        startedUtcMs: Date.parse(startedAt),
        notifiedMs: known?.notifiedMs ?? atMs,
        resolved:
          resolvedAt === null
            ? null
            : { utcMs: Date.parse(resolvedAt), reason: incident.resolved_reason },
      });
    }
  }
  return [...incidents.values()];
}

/**
 * With the incidents that fired while all those were closed, or are not about them, whom their rule names: nobody was notified of
 * them, and they went on as if somebody had been.
 */
function withUnheard(
  { receivers, rules }: Scenario,
  { storedIncidents }: Recorded,
  notified: readonly NotifiedIncident[],
): readonly NotifiedIncident[] {
  const selective = new Set(
    receivers.filter(({ route, hours }) => route ?? hours).map(({ name }) => name),
  );
  const unheard = new Set(
    rules
      .filter((rule) => rule.receivers.every((name) => selective.has(name)))
      .map(({ name }) => name),
  );
  if (unheard.size === 0) return notified;
  const known = new Set(notified.map(({ id }) => id));
  const more = Array.from(storedIncidents.values()).flatMap((versions): NotifiedIncident[] => {
    const fired = versions.find(({ isNotified }) => isNotified);
    if (!fired || known.has(fired.id) || !unheard.has(fired.rule)) return [];
    if (fired.inhibitedBy !== null) return [];
    const { id, rule, region, target, server, startedUtcMs, atMs } = fired;
    const about = { region, key: target?.split("/")[1] ?? null, pool: null, probe: null };
    const subject = { ...about, target: target ?? "", server, receiver: null };
    return [{ id, rule, ...subject, startedUtcMs, notifiedMs: atMs, resolved: null }];
  });
  const order = new Map(Array.from(storedIncidents.keys(), (id, at) => [id, at]));
  return [...notified, ...more].toSorted(
    (one, other) => (order.get(one.id) ?? 0) - (order.get(other.id) ?? 0),
  );
}

export type MessageIncident = Message["data"]["incidents"][number];

/** What an incident is about. Of the last four, at most one is not null. */
export function subjectOf(incident: MessageIncident) {
  const { region, key, sandbox_id: box, probe, receiver = null } = incident;
  const target = `${region}/${key}`;
  return {
    target,
    region,
    key,
    /** By sandbox and server id; of a sandbox its id alone. */
    server: box === null ? null : [box, incident.server_id ?? []].flat().join(" "),
    pool: incident.subject === "pool" ? `${region} ${key} ${incident.server_name}` : null,
    probe: probe === undefined ? null : probeText(probe, target),
    receiver,
  };
}

export function probeText(probe: string, target: string): string {
  return `${probe} of ${target}`;
}

/** When the wall clock showed a time: never, or several times where it was stepped. */
export function timesOf({ wallClocks }: Recorded, utcMs: number): readonly number[] {
  return wallClocks.flatMap(({ fromMs, offsetMs }, at) => {
    const ms = utcMs - offsetMs;
    return ms >= fromMs && ms <= (wallClocks[at + 1]?.fromMs ?? Infinity) ? [ms] : [];
  });
}

/** How long what a poll decided may wait to be written together with others. */
const gatherMs = 100;

/** Until when what was received in a moment has been written, unless the store failed. */
export function writtenUntilMs({ stalls }: Recorded, { moment, atMs }: Omit<Moment, "utcMs">) {
  return atMs + (stalls.get(moment) ?? 0) + gatherMs;
}

/** Beyond that, longer than anything takes that follows from a stored poll. */
export const settlingMs = 200;

/** Whether the store of a process refused something in a time. */
export function hasFault(
  { faultsByLife, dueMs }: Evidence,
  life: number,
  fromMoment = 0,
  untilMs = Infinity,
): boolean {
  // Moments are due in their order.
  const last = faultsByLife.get(life)?.findLast((moment) => (dueMs[moment] ?? Infinity) <= untilMs);
  return last !== undefined && last >= fromMoment;
}

/** For how long processes were held up in a time. */
export function stalledMs({ stalls, dueMs }: Recorded, fromMs: number, toMs = Infinity): number {
  return stalls.entries().reduce((total, [moment, ms]) => {
    const atMs = dueMs[moment] ?? 0;
    return atMs >= fromMs - ms && atMs <= toMs ? total + ms : total;
  }, 0);
}

/** The requests for listings of a target, or for another path. */
export function requestsFor(
  { requests }: Recorded,
  target: string,
  life: number,
  path = listingPath,
): readonly ServiceRequest[] {
  return requests.filter(
    (each) => each.target === target && each.life === life && each.path === path,
  );
}

/** Not all receivers may be notified by the end of what happens later. */
export function lastNotifiableMs({ endMs }: Recorded): number {
  return endMs - 1.5 * longestWaitMs;
}
