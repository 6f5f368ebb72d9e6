import type { ListedSandbox, ListedServer, Status } from "./model.ts";

type Texts = readonly (string | null)[];

const badness: Readonly<Record<Status, number>> = { unknown: 0, idle: 1, occupied: 2, error: 3 };

/**
 * Which of two items to believe that are listed under one id: the one with the worse status, and
 * between equal statuses the one whose texts sort later. It is the same one in either order, or a
 * service that lists them now this way and now that way would make alerts flap.
 */
export function worseOf<T extends { readonly status: Status }>(
  one: T,
  other: T,
  textsOf: (item: T) => Texts,
): T {
  const difference = badness[one.status] - badness[other.status];
  return (difference || compare(textsOf(one), textsOf(other))) < 0 ? other : one;
}

export function worseServer(one: ListedServer, other: ListedServer): ListedServer {
  return worseOf(one, other, ({ serverName, benchmark, tags }) => [serverName, benchmark, ...tags]);
}

/** Of the sandboxes themselves, whatever their servers. */
export function worseSandbox<T extends Omit<ListedSandbox, "servers">>(one: T, other: T): T {
  return worseOf(one, other, ({ benchmark }) => [benchmark]);
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
