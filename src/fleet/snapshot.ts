import type { Deviation } from "./deviation.ts";
import { sandboxesPerSlice, type Slices } from "./slices.ts";
import type { Status } from "./model.ts";
import { noTallies, TallyChange, type Tallies } from "./tallies.ts";

/**
 * The accepted state of a target after its last listing: immutable arrays of immutable objects. What did not change is
 * the same object in the next snapshot (`next-snapshot.ts`). So comparing is `===`, a scrape or report holds the snapshot
 * that it began with, and a poll that could not be committed is dropped by dropping the reference.
 *
 * Invariants: ids of sandboxes are unique, ids of servers are unique within their sandbox. `texts` is as long as
 * `sandboxes`, and `places` has each sandbox's index. Sandboxes that the last listing held come first, in its order.
 */
export interface Snapshot {
  readonly sandboxes: readonly Sandbox[];
  /** How many of them, from the first one on, the last listing held. */
  readonly listedCount: number;
  /** Servers that a partial listing lacked in sandboxes that it held. It proves nothing about them. */
  readonly unlistedServers: ReadonlySet<Server>;
  /** The text that each sandbox was read from; null: it must be read again. */
  readonly texts: readonly (SandboxText | null)[];
  /** By the sandbox's id. The same map as before as long as no sandbox comes, goes or moves. */
  readonly places: ReadonlyMap<string, number>;
  readonly tallies: Tallies;
}

/** A sandbox as a listing has it. */
export interface ListedSandbox {
  readonly id: string;
  /** What the listing states, `unknown` for a word that is none of the service's; null: it states none. */
  readonly status: Status | null;
  readonly benchmark: string | null;
  /** When the service created it, in UTC milliseconds; null: that cannot be read. */
  readonly createdAt: number | null;
  readonly servers: readonly ListedServer[];
}

export interface ListedServer {
  readonly id: string;
  readonly name: string | null;
  /** As that of a sandbox. */
  readonly status: Status | null;
  readonly benchmark: string | null;
  readonly tags: readonly string[];
}

/** A sandbox as it was last observed. */
export interface Sandbox extends ListedSandbox {
  /** Its own once it has stated one, and before that the worst that its servers state (`stated-status.ts`). */
  readonly status: Status;
  /** What it states; `unknown`: it has stated a status since it appeared, and does not now; null: it never has. */
  readonly statedStatus: Status | null;
  readonly servers: readonly Server[];
  /** When `status` was first observed. */
  readonly since: Since;
  /** Complete listings in a row that lacked it. */
  readonly missing: number;
}

/** A server as it was last observed. */
export interface Server extends ListedServer {
  /** Its own once it has stated one, and before that what its sandbox states. */
  readonly status: Status;
  /** It has stated a status since it appeared. */
  readonly hasStated: boolean;
  readonly since: Since;
  /** Complete listings in a row that lacked it. */
  readonly missing: number;
}

/** When a status was first observed. One object for all that changed with one poll. */
export interface Since {
  /** UTC milliseconds. */
  readonly atMs: number;
  /** The same moment on the target's observed clock, by which the dwell time is measured. Whole milliseconds. */
  readonly observedMs: number;
  /** Whether the status began between two complete polls without a gap, so that its dwell time can be known. */
  readonly momentKnown: boolean;
}

/**
 * Identifies the text that a sandbox was read from, so that the same text is not parsed again. A sandbox with a server
 * that its text does not list has none: each such listing counts the server as missing once more.
 */
export interface SandboxText {
  /** In bytes. */
  readonly length: number;
  /** 64 bits. */
  readonly hash: bigint;
  /** At one poll in 1,024 it is parsed all the same, as a protection against collisions of the hash. */
  readonly rereadAt: number;
  /** How it deviates from the interface, which is reported again each time. */
  readonly deviations: readonly Deviation[];
}

/** One response of the service, reduced to what is kept. */
export interface Listing {
  /**
   * Ids are unique. For an unchanged sandbox without missing servers, pass the object of the previous snapshot: it is
   * not compared then.
   */
  readonly sandboxes: readonly ListedSandbox[];
  /** One for each sandbox; null: the sandbox must be parsed again next time. */
  readonly texts: readonly (SandboxText | null)[];
  /** False: a sandbox or server that it lacks may still exist. */
  readonly complete: boolean;
}

export const emptySnapshot: Snapshot = {
  sandboxes: [],
  listedCount: 0,
  unlistedServers: new Set(),
  texts: [],
  places: new Map(),
  tallies: noTallies,
};

/** A snapshot of what was stored. No text is known, so the next listing is parsed whole. */
export function* restoreSnapshot(sandboxes: readonly Sandbox[]): Slices<Snapshot> {
  const tallies = new TallyChange(noTallies);
  for (const [place, sandbox] of sandboxes.entries()) {
    if (place % sandboxesPerSlice === sandboxesPerSlice - 1) yield;
    tallies.countSandbox(sandbox, 1);
    for (const server of sandbox.servers) tallies.countServer(server, 1);
  }
  return {
    sandboxes,
    listedCount: sandboxes.length,
    unlistedServers: emptySnapshot.unlistedServers,
    texts: sandboxes.map(() => null),
    places: yield* indexSandboxes(sandboxes),
    tallies: tallies.finish(),
  };
}

export function* indexSandboxes(
  sandboxes: readonly Sandbox[],
): Slices<ReadonlyMap<string, number>> {
  const places = new Map<string, number>();
  for (const { id } of sandboxes) {
    if (places.size % sandboxesPerSlice === sandboxesPerSlice - 1) yield;
    places.set(id, places.size);
  }
  return places;
}

/** A sandbox as a listing states it, also where the object of a snapshot stands for it. */
export function asListed(sandbox: ListedSandbox | Sandbox): ListedSandbox {
  if (!("statedStatus" in sandbox)) return sandbox;
  return {
    id: sandbox.id,
    status: sandbox.statedStatus,
    benchmark: sandbox.benchmark,
    createdAt: sandbox.createdAt,
    servers: sandbox.servers.map(({ id, name, status, hasStated, benchmark, tags }) => {
      return { id, name, status: hasStated ? status : null, benchmark, tags };
    }),
  };
}

/** A sandbox that is listed as it was known, all of it, is replaced by the known object. */
export function isAsKnown(known: Sandbox, listed: ListedSandbox): boolean {
  if (known.id !== listed.id || known.missing > 0) return false;
  if (known.statedStatus !== statedAfter(listed.status, known.statedStatus)) return false;
  if (known.benchmark !== listed.benchmark || known.createdAt !== listed.createdAt) return false;
  if (known.servers.length !== listed.servers.length) return false;
  return known.servers.every((server, at) => {
    const other = listed.servers[at];
    return other !== undefined && isServerAsKnown(server, other, known.statedStatus);
  });
}

/** @param ofSandbox what its sandbox states now */
export function isServerAsKnown(
  known: Server,
  listed: ListedServer,
  ofSandbox: Status | null,
): boolean {
  return (
    known.id === listed.id &&
    (known.hasStated || listed.status === null) &&
    known.status === statusOfServer(listed.status, known.hasStated, ofSandbox) &&
    known.missing === 0 &&
    known.name === listed.name &&
    known.benchmark === listed.benchmark &&
    known.tags.length === listed.tags.length &&
    known.tags.every((tag, at) => tag === listed.tags[at])
  );
}

export function findSandbox({ places, sandboxes }: Snapshot, sandboxId: string) {
  const place = places.get(sandboxId);
  return place === undefined ? undefined : sandboxes[place];
}

export function findServer(snapshot: Snapshot, sandboxId: string, serverId: string) {
  return findSandbox(snapshot, sandboxId)?.servers.find(({ id }) => id === serverId);
}

/** A sandbox, only where the last listing held it. */
export function findListedSandbox(snapshot: Snapshot, sandboxId: string): Sandbox | undefined {
  const place = snapshot.places.get(sandboxId) ?? Infinity;
  return place < snapshot.listedCount ? snapshot.sandboxes[place] : undefined;
}

/** A server and the sandbox that it is in. */
export interface PlacedServer {
  readonly sandbox: Sandbox;
  readonly server: Server;
}

/** Every server in the order of the last listing, the missing ones included. */
export function* eachServer({ sandboxes }: Snapshot): Generator<PlacedServer, void> {
  for (const sandbox of sandboxes) {
    for (const server of sandbox.servers) yield { sandbox, server };
  }
}

/** Whether the last listing held a sandbox that it lists, or a server of one. */
export function isListed(
  { unlistedServers }: { readonly unlistedServers: ReadonlySet<unknown> },
  item: Pick<Server | Sandbox, "missing">,
): boolean {
  return item.missing === 0 && !unlistedServers.has(item);
}

/*
 * A listing gives sandboxes and servers a status, and either may be absent. One that has not stated a status since it
 * appeared has the status that the other side states: a server that of its sandbox, a sandbox the worst of its servers.
 * One that has ever stated a status has its own from then on, so where it is absent, it is unknown. Only what is stated
 * counts for the other side: nothing is derived from what was itself derived.
 */

/** Gives what a sandbox states, from what it stated before; null: it never has. */
export function statedAfter(listed: Status | null, before: Status | null): Status | null {
  return listed ?? (before === null ? null : "unknown");
}

/** Gives the status of a server. @param ofSandbox what its sandbox states; null: it never has */
export function statusOfServer(
  listed: Status | null,
  hasStated: boolean,
  ofSandbox: Status | null,
): Status {
  return listed ?? (hasStated ? null : ofSandbox) ?? "unknown";
}

const fromWorst = ["error", "occupied", "idle"] as const;

/** The status of a sandbox that never stated one. */
export function worstStated(
  servers: readonly { readonly hasStated: boolean; readonly status: Status }[],
): Status {
  const isStated = (status: Status): boolean =>
    servers.some((server) => server.hasStated && server.status === status);
  return fromWorst.find(isStated) ?? "unknown";
}
