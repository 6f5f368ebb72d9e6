import type { Status } from "../history.ts";
import type { Evidence, Listing, ShownBox, ShownServer } from "./evidence.ts";
import { storedPollsOf } from "./target-history.ts";

/** What is known of a server or a sandbox between two listings. */
interface Known {
  readonly status: Status;
  /** Whether it has stated a status since it appeared. */
  readonly hasStated: boolean;
  /** Complete listings in a row that lacked it. */
  readonly lacking: number;
}

interface KnownTarget {
  readonly servers: ReadonlyMap<string, Known>;
  readonly boxes: ReadonlyMap<string, Known>;
}

type Statuses = Pick<Listing, "shown" | "boxes">;

/**
 * Adds to each listing the statuses of its servers and sandboxes. Who has never stated one is spoken for by the other
 * side; who has once stated one speaks for itself from then on, and its status is unknown where it is absent.
 */
export function withStatuses(evidence: Evidence): Evidence {
  const found = new Map<Listing, Statuses>();
  for (const { name } of evidence.scenario.targets) {
    for (const [listing, statuses] of statusesOf(evidence, name)) found.set(listing, statuses);
  }
  const listings = evidence.listings.map((each) => ({ ...each, ...found.get(each) }));
  return { ...evidence, listings };
}

function statusesOf(evidence: Evidence, target: string): readonly (readonly [Listing, Statuses])[] {
  const stored = new Set(storedPollsOf(evidence, target).map(({ listing }) => listing));
  const own = evidence.listings.filter((each) => each.target === target);
  let known: KnownTarget = { servers: new Map(), boxes: new Map() };
  return own.map((listing) => {
    const { after, statuses } = observe(known, listing, evidence.scenario.goneAfter);
    // What was not stored is not known afterwards.
    if (stored.has(listing)) known = after;
    return [listing, statuses];
  });
}

function observe(before: KnownTarget, { stated, complete }: Listing, goneAfter: number) {
  const ownOf = (box: string): Status | null =>
    stated.boxes.get(box) ?? (before.boxes.get(box)?.hasStated ? "unknown" : null);
  const shown = new Map<string, ShownServer>();
  const servers = new Map(unlisted(before.servers, stated.servers, complete, goneAfter));
  for (const [server, { status: own, name }] of stated.servers) {
    const hasStated = own !== null || before.servers.get(server)?.hasStated === true;
    const status = own ?? (hasStated ? null : ownOf(boxOf(server))) ?? "unknown";
    servers.set(server, { status, hasStated, lacking: 0 });
    shown.set(server, { status, name, isVague: false });
  }
  const boxes = new Map(unlisted(before.boxes, stated.boxes, complete, goneAfter));
  const shownBoxes = new Map<string, ShownBox>();
  for (const box of stated.boxes.keys()) {
    const own = ownOf(box);
    const status = own ?? worstOf(within(box, servers));
    // Of a server that was missing it is not known when it changed.
    const isVague = own === null && within(box, before.servers).some(({ lacking }) => lacking > 0);
    boxes.set(box, { status, hasStated: own !== null, lacking: 0 });
    shownBoxes.set(box, { status, name: "", isVague, own });
  }
  return { after: { servers, boxes }, statuses: { shown, boxes: shownBoxes } };
}

/** Those that are known and not listed, without those that are gone. */
function unlisted(
  known: ReadonlyMap<string, Known>,
  listed: ReadonlyMap<string, unknown>,
  complete: boolean,
  goneAfter: number,
): readonly (readonly [string, Known])[] {
  return Array.from(known)
    .filter(([name]) => !listed.has(name))
    .map(([name, each]) => [name, { ...each, lacking: each.lacking + (complete ? 1 : 0) }] as const)
    .filter(([, { lacking }]) => lacking < goneAfter);
}

/** The worst that servers state. */
function worstOf(servers: readonly Known[]): Status {
  const stated = servers.filter(({ hasStated }) => hasStated).map(({ status }) => status);
  return (
    (["error", "occupied", "idle"] as const).find((each) => stated.includes(each)) ?? "unknown"
  );
}

function within(box: string, servers: ReadonlyMap<string, Known>): readonly Known[] {
  return Array.from(servers)
    .filter(([server]) => boxOf(server) === box)
    .map(([, known]) => known);
}

/** The sandbox of a server; of a sandbox itself. */
export function boxOf(subject: string): string {
  return subject.split(" ")[0] ?? "";
}
