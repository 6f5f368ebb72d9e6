import { sandboxesPerSlice } from "./slices.ts";
import type { Slices } from "./slices.ts";
import { emptySnapshot, indexSandboxes, isServerAsKnown } from "./snapshot.ts";
import type { ListedSandbox, ListedServer, Listing, Sandbox } from "./snapshot.ts";
import type { SandboxText, Server, Since, Snapshot } from "./snapshot.ts";
import { TallyChange } from "./tallies.ts";

/** How a listing was observed. */
export interface Observation {
  /** When the poll ended. UTC milliseconds. */
  readonly atMs: number;
  /** The target's observed clock at this poll. Milliseconds. */
  readonly observedMs: number;
  /** Whether the time since the previous listing was observed: then the moment of a change is known. */
  readonly witnessed: boolean;
  /** Complete listings in a row without a server before it counts as gone. */
  readonly goneAfter: number;
}

/**
 * What a listing makes of a snapshot: the very same one where it says nothing new. What the listing lacks is missing
 * once more, or gone, if the listing is complete; of a partial one it stays as it was. It comes last, in the order
 * that it had.
 */
export function* nextSnapshot(
  before: Snapshot,
  listing: Listing,
  observation: Observation,
): Slices<Snapshot> {
  if (isUnchanged(before, listing)) return before;
  const step = new Step(before, listing, observation);
  while (!step.takeListed()) yield;
  while (!step.takeUnlisted()) yield;
  return yield* step.finish();
}

/** Most listings say what the one before said. To find that out by references alone takes next to nothing. */
function isUnchanged(before: Snapshot, { sandboxes, texts }: Listing): boolean {
  return (
    before.listedCount === before.sandboxes.length &&
    before.unlistedServers.size === 0 &&
    isSameArray(before.sandboxes, sandboxes) &&
    isSameArray(before.texts, texts)
  );
}

class Step {
  private readonly before: Snapshot;
  private readonly listing: Listing;
  private readonly goneAfter: number;
  private readonly began: Since;
  /** Of a server that was missing: it may have changed long before it was observed again. */
  private readonly beganUnwitnessed: Since;
  private readonly tallies: TallyChange;
  private readonly sandboxes: Sandbox[] = [];
  private readonly texts: (SandboxText | null)[] = [];
  private readonly unlistedServers = new Set<Server>();
  /** By place before: whether the listing held the sandbox. */
  private readonly isListed: Uint8Array;
  /** Where the next sandbox was, if the order is as it was. */
  private expected = 0;
  private unlisted = 0;
  private isSameOrder = true;
  private isSame: boolean;

  constructor(before: Snapshot, listing: Listing, observation: Observation) {
    const { atMs, observedMs, witnessed, goneAfter } = observation;
    this.before = before;
    this.listing = listing;
    this.goneAfter = goneAfter;
    // Rounded down, so that no dwell time is ever less than nothing.
    this.began = { atMs, observedMs: Math.floor(observedMs), witnessed };
    this.beganUnwitnessed = { ...this.began, witnessed: false };
    this.tallies = new TallyChange(before.tallies);
    this.isListed = new Uint8Array(before.sandboxes.length);
    this.isSame = listing.sandboxes.length === before.listedCount;
  }

  /** Takes some of the sandboxes that the listing holds. True once all are taken. */
  takeListed(): boolean {
    const { before, listing, sandboxes, texts } = this;
    const end = Math.min(listing.sandboxes.length, sandboxes.length + sandboxesPerSlice);
    for (let at = sandboxes.length; at < end; at++) {
      const listed = listing.sandboxes[at];
      if (!listed) break;
      const place = this.placeBefore(listed);
      const known = before.sandboxes[place];
      if (place !== at) this.isSameOrder = false;
      const sandbox = listed === known ? known : this.merge(listed, known);
      // A text that lacks a server of the sandbox is news when it comes again.
      const isWhole = sandbox === listed || sandbox.servers.length === listed.servers.length;
      const text = isWhole ? (listing.texts[at] ?? null) : null;
      if (sandbox !== known || text !== before.texts[place]) this.isSame = false;
      sandboxes.push(sandbox);
      texts.push(text);
    }
    return end === listing.sandboxes.length;
  }

  /** The same with those that the listing lacks. */
  takeUnlisted(): boolean {
    const { before, isListed, sandboxes, texts } = this;
    const end = Math.min(isListed.length, this.unlisted + sandboxesPerSlice);
    for (; this.unlisted < end; this.unlisted++) {
      const known = before.sandboxes[this.unlisted];
      if (!known || isListed[this.unlisted] === 1) continue;
      const sandbox = this.listing.complete ? this.miss(known) : known;
      if (this.unlisted !== sandboxes.length || !sandbox) this.isSameOrder = false;
      if (sandbox !== known || before.texts[this.unlisted] !== null) this.isSame = false;
      if (!sandbox) continue;
      sandboxes.push(sandbox);
      texts.push(null);
    }
    return end === isListed.length;
  }

  *finish(): Slices<Snapshot> {
    const { before, sandboxes, texts } = this;
    const isSameOrder = this.isSameOrder && sandboxes.length === before.sandboxes.length;
    const isSame = this.isSame && isSameOrder;
    const none = this.unlistedServers.size === 0 && before.unlistedServers.size === 0;
    if (isSame && none) return before;
    return {
      sandboxes,
      listedCount: this.listing.sandboxes.length,
      unlistedServers: none ? emptySnapshot.unlistedServers : this.unlistedServers,
      texts,
      places: isSameOrder ? before.places : yield* indexSandboxes(sandboxes),
      tallies: this.tallies.finish(),
    };
  }

  /** Where the sandbox was before; -1: it is new. Notes that it is listed. */
  private placeBefore(listed: ListedSandbox): number {
    const { before, isListed } = this;
    const expected = before.sandboxes[this.expected];
    const isExpected = expected === listed || expected?.id === listed.id;
    const place = isExpected ? this.expected : (before.places.get(listed.id) ?? -1);
    if (place < 0) return -1;
    isListed[place] = 1;
    this.expected = place + 1;
    return place;
  }

  private merge(listed: ListedSandbox, known: Sandbox | undefined): Sandbox {
    const servers = this.mergeServers(listed.servers, known?.servers ?? []);
    const { id, status, benchmark } = listed;
    if (known?.status !== status) {
      if (known) this.tallies.countSandbox(known.status, -1);
      this.tallies.countSandbox(status, 1);
    }
    const isSame =
      known?.missing === 0 &&
      known.status === status &&
      known.benchmark === benchmark &&
      isSameArray(known.servers, servers);
    return isSame ? known : { id, status, benchmark, servers, missing: 0 };
  }

  /** Those that are listed in their order, and behind them those that are not, unless they are gone. */
  private mergeServers(
    listed: readonly ListedServer[],
    known: readonly Server[],
  ): readonly Server[] {
    const left = new Map<string, Server>();
    const servers: Server[] = [];
    let at = 0;
    // Most are listed in the order that they had.
    while (at < listed.length && listed[at]?.id === known[at]?.id) at++;
    for (let index = at; index < known.length; index++) {
      const server = known[index];
      if (server) left.set(server.id, server);
    }
    for (const [index, server] of listed.entries()) {
      const counterpart = index < at ? known[index] : left.get(server.id);
      left.delete(server.id);
      servers.push(this.mergeServer(server, counterpart));
    }
    for (const server of left.values()) {
      const next = this.listing.complete ? this.missServer(server) : server;
      if (!next) continue;
      servers.push(next);
      if (!this.listing.complete) this.unlistedServers.add(next);
    }
    return servers;
  }

  private mergeServer(listed: ListedServer, known: Server | undefined): Server {
    if (known && isServerAsKnown(known, listed)) return known;
    const { id, name, status, benchmark, tags } = listed;
    const since = known?.status === status ? known.since : this.sinceOf(known);
    const server = { id, name, status, benchmark, tags, since, missing: 0 };
    if (known) this.tallies.countServer(known, -1);
    this.tallies.countServer(server, 1);
    return server;
  }

  private sinceOf(known: Server | undefined): Since {
    return known && known.missing > 0 ? this.beganUnwitnessed : this.began;
  }

  /** A sandbox that a complete listing lacks; null: it is gone, with all that is in it. */
  private miss(known: Sandbox): Sandbox | null {
    const missing = known.missing + 1;
    if (missing >= this.goneAfter) {
      this.tallies.countSandbox(known.status, -1);
      for (const server of known.servers) this.tallies.countServer(server, -1);
      return null;
    }
    const servers = known.servers.flatMap((server) => this.missServer(server) ?? []);
    return { ...known, servers, missing };
  }

  private missServer(known: Server): Server | null {
    const missing = known.missing + 1;
    const server = missing >= this.goneAfter ? null : { ...known, missing };
    this.tallies.countServer(known, -1);
    if (server) this.tallies.countServer(server, 1);
    return server;
  }
}

function isSameArray(some: readonly unknown[], others: readonly unknown[]): boolean {
  if (some.length !== others.length) return false;
  for (let at = 0; at < some.length; at++) if (some[at] !== others[at]) return false;
  return true;
}
