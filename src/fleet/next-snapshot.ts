import { sandboxesPerSlice } from "./slices.ts";
import type { Slices } from "./slices.ts";
import { asListed, emptySnapshot, indexSandboxes, isServerAsKnown } from "./snapshot.ts";
import type { ListedSandbox, ListedServer, Listing, Sandbox } from "./snapshot.ts";
import type { SandboxText, Server, Since, Snapshot } from "./snapshot.ts";
import { statedAfter, statusOfServer, worstStated } from "./snapshot.ts";
import type { Status } from "./model.ts";
import { TallyChange } from "./tallies.ts";

/** How a listing was observed. */
export interface Observation {
  /** When the poll ended. UTC milliseconds. */
  readonly atMs: number;
  /** The target's observed clock at this poll. Milliseconds. */
  readonly observedMs: number;
  /** Whether the time since the previous listing was observed, so that the moment of a change is known. */
  readonly momentKnown: boolean;
  /** Complete listings in a row without a server before it counts as gone. */
  readonly goneAfter: number;
}

/**
 * Computes the snapshot after a listing; the same object if nothing changed. A sandbox or server that a complete listing
 * lacks is missing, and removed after `goneAfter` such listings. One that a partial listing lacks stays as it was. Unlisted
 * sandboxes come last, in their previous order.
 */
export function* nextSnapshot(
  before: Snapshot,
  listing: Listing,
  observation: Observation,
): Slices<Snapshot> {
  // Most listings equal the previous one. Comparing references detects that cheaply.
  const isUnchanged =
    before.listedCount === before.sandboxes.length &&
    before.unlistedServers.size === 0 &&
    isSameArray(before.sandboxes, listing.sandboxes) &&
    isSameArray(before.texts, listing.texts);
  if (isUnchanged) return before;

  const merge = new Merge(before, listing, observation);
  const sandboxes: Sandbox[] = [];
  const texts: (SandboxText | null)[] = [];
  /** By index in the previous snapshot. */
  const isListed = new Uint8Array(before.sandboxes.length);
  let isSameOrder = true;
  let isSame = listing.sandboxes.length === before.listedCount;

  let expected = 0;
  for (const [at, listed] of listing.sandboxes.entries()) {
    if (at % sandboxesPerSlice === sandboxesPerSlice - 1) yield;
    const isExpected = before.sandboxes[expected]?.id === listed.id;
    const place = isExpected ? expected : (before.places.get(listed.id) ?? -1);
    if (place >= 0) {
      isListed[place] = 1;
      expected = place + 1;
    }
    const known = before.sandboxes[place];
    const sandbox = listed === known ? known : merge.sandbox(listed, known);
    // A text that lacks a known server must be parsed each time: the server is missing once more.
    const isWhole = sandbox === listed || sandbox.servers.length === listed.servers.length;
    const text = isWhole ? (listing.texts[at] ?? null) : null;
    if (place !== at) isSameOrder = false;
    if (sandbox !== known || text !== before.texts[place]) isSame = false;
    sandboxes.push(sandbox);
    texts.push(text);
  }

  for (const [place, known] of before.sandboxes.entries()) {
    if (place % sandboxesPerSlice === sandboxesPerSlice - 1) yield;
    if (isListed[place] === 1) continue;
    const sandbox = listing.complete ? merge.miss(known) : known;
    if (place !== sandboxes.length || !sandbox) isSameOrder = false;
    if (sandbox !== known || before.texts[place] !== null) isSame = false;
    if (!sandbox) continue;
    sandboxes.push(sandbox);
    texts.push(null);
  }

  isSameOrder &&= sandboxes.length === before.sandboxes.length;
  const areAllListed = merge.unlistedServers.size === 0;
  if (isSame && isSameOrder && areAllListed && before.unlistedServers.size === 0) return before;
  return {
    sandboxes,
    listedCount: listing.sandboxes.length,
    unlistedServers: areAllListed ? emptySnapshot.unlistedServers : merge.unlistedServers,
    texts,
    places: isSameOrder ? before.places : yield* indexSandboxes(sandboxes),
    tallies: merge.tallies.finish(),
  };
}

/** Merges a listing with the previous snapshot, and updates the tallies. */
class Merge {
  readonly tallies: TallyChange;
  readonly unlistedServers = new Set<Server>();
  private readonly isComplete: boolean;
  private readonly goneAfter: number;
  private readonly began: Since;
  /** For what was missing: its status may have changed long before it was observed again. */
  private readonly beganAtUnknownMoment: Since;

  constructor(before: Snapshot, listing: Listing, observation: Observation) {
    const { atMs, observedMs, momentKnown, goneAfter } = observation;
    this.tallies = new TallyChange(before.tallies);
    this.isComplete = listing.complete;
    this.goneAfter = goneAfter;
    // Rounded down, so that no dwell time is negative.
    this.began = { atMs, observedMs: Math.floor(observedMs), momentKnown };
    this.beganAtUnknownMoment = { ...this.began, momentKnown: false };
  }

  sandbox(given: ListedSandbox, known: Sandbox | undefined): Sandbox {
    const listed = asListed(given);
    const { id, benchmark, createdAt } = listed;
    const statedStatus = statedAfter(listed.status, known?.statedStatus ?? null);
    const servers = this.servers(listed.servers, known?.servers ?? [], statedStatus);
    const status = statedStatus ?? worstStated(servers);
    const isSame =
      known?.missing === 0 &&
      known.status === status &&
      known.statedStatus === statedStatus &&
      known.benchmark === benchmark &&
      known.createdAt === createdAt &&
      isSameArray(known.servers, servers);
    if (isSame) return known;
    const wasMissing =
      known && (known.missing > 0 || (statedStatus === null && known.servers.some(isMissing)));
    const began = wasMissing ? this.beganAtUnknownMoment : this.began;
    const since = known?.status === status ? known.since : began;
    if (known) this.tallies.countSandbox(known, -1);
    const next = { id, status, statedStatus, benchmark, createdAt, servers, since, missing: 0 };
    this.tallies.countSandbox(next, 1);
    return next;
  }

  /** Counts a sandbox that a complete listing lacks as missing; null: it is gone, with its servers. */
  miss(known: Sandbox): Sandbox | null {
    const missing = known.missing + 1;
    this.tallies.countSandbox(known, -1);
    if (missing >= this.goneAfter) {
      for (const server of known.servers) this.tallies.countServer(server, -1);
      return null;
    }
    const servers = known.servers.flatMap((server) => this.missServer(server) ?? []);
    const next = { ...known, servers, missing };
    this.tallies.countSandbox(next, 1);
    return next;
  }

  /** The listed servers in their order, followed by the unlisted ones that are not gone. */
  private servers(
    listed: readonly ListedServer[],
    known: readonly Server[],
    ofSandbox: Status | null,
  ): readonly Server[] {
    // The order seldom changes.
    let at = 0;
    while (at < listed.length && listed[at]?.id === known[at]?.id) at++;
    const rest = new Map(known.slice(at).map((server) => [server.id, server]));
    const servers = listed.map((server, index) => {
      const counterpart = index < at ? known[index] : rest.get(server.id);
      rest.delete(server.id);
      return this.server(server, counterpart, ofSandbox);
    });
    for (const server of rest.values()) {
      const next = this.isComplete ? this.missServer(server) : server;
      if (!next) continue;
      servers.push(next);
      if (!this.isComplete) this.unlistedServers.add(next);
    }
    return servers;
  }

  private server(
    listed: ListedServer,
    known: Server | undefined,
    ofSandbox: Status | null,
  ): Server {
    if (known && isServerAsKnown(known, listed, ofSandbox)) return known;
    const { id, name, benchmark, tags } = listed;
    const hasStated = known?.hasStated === true || listed.status !== null;
    const status = statusOfServer(listed.status, hasStated, ofSandbox);
    const began = known && isMissing(known) ? this.beganAtUnknownMoment : this.began;
    const since = known?.status === status ? known.since : began;
    const server = { id, name, status, hasStated, benchmark, tags, since, missing: 0 };
    if (known) this.tallies.countServer(known, -1);
    this.tallies.countServer(server, 1);
    return server;
  }

  private missServer(known: Server): Server | null {
    const missing = known.missing + 1;
    const server = missing >= this.goneAfter ? null : { ...known, missing };
    this.tallies.countServer(known, -1);
    if (server) this.tallies.countServer(server, 1);
    return server;
  }
}

function isMissing({ missing }: Server): boolean {
  return missing > 0;
}

function isSameArray(some: readonly unknown[], others: readonly unknown[]): boolean {
  if (some === others) return true;
  if (some.length !== others.length) return false;
  for (let at = 0; at < some.length; at++) if (some[at] !== others[at]) return false;
  return true;
}
