import type { ListedSandbox, ListedServer } from "./snapshot.ts";
import type { Status } from "./status.ts";

/**
 * What is taken of items that a listing holds more than once: they are joined, and the worse one is believed, whatever
 * their order. A service that lists them now this way and now that way would make alerts flap otherwise.
 */

type Texts = readonly (string | null)[];

const badness: Readonly<Record<Status, number>> = { unknown: 0, idle: 1, occupied: 2, error: 3 };

/** The one with the worse status; between equal statuses the one whose texts sort later. */
function worseOf<Item extends { readonly status: Status }>(
  one: Item,
  other: Item,
  textsOf: (item: Item) => Texts,
): Item {
  const difference = badness[one.status] - badness[other.status];
  return (difference || compare(textsOf(one), textsOf(other))) < 0 ? other : one;
}

/** The one to believe of two servers with one id. */
export function worseServer(one: ListedServer, other: ListedServer): ListedServer {
  return worseOf(one, other, ({ name, benchmark, tags }) => [name, benchmark, ...tags]);
}

function compare(one: Texts, other: Texts): number {
  const length = Math.max(one.length, other.length);
  for (let at = 0; at < length; at++) {
    const a = one[at] ?? null;
    const b = other[at] ?? null;
    if (a === b) continue;
    if (a === null) return -1;
    return b !== null && a < b ? -1 : 1;
  }
  return 0;
}

/** Sandboxes of one id, joined one by one: a listing can hold very many. */
export class JoinedSandboxes {
  private itself: Omit<ListedSandbox, "servers">;
  private readonly servers: Map<string, ListedServer>;

  constructor({ servers, ...itself }: ListedSandbox) {
    this.itself = itself;
    this.servers = new Map(servers.map((server) => [server.id, server]));
  }

  get serverCount(): number {
    return this.servers.size;
  }

  /** @returns how many of its servers were there already */
  add({ servers, ...itself }: ListedSandbox): number {
    this.itself = worseOf(this.itself, itself, ({ benchmark }) => [benchmark]);
    let known = 0;
    for (const server of servers) {
      const duplicate = this.servers.get(server.id);
      if (duplicate) known++;
      this.servers.set(server.id, duplicate ? worseServer(duplicate, server) : server);
    }
    return known;
  }

  joined(): ListedSandbox {
    const { id, status, benchmark } = this.itself;
    return { id, status, benchmark, servers: [...this.servers.values()] };
  }
}
