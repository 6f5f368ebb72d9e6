import * as fc from "fast-check";
import { seededRandom } from "../../../src/platform/random.ts";
import { statuses } from "../../../src/core/model.ts";
import type { ListedSandbox, ListedServer } from "../../../src/core/model.ts";
import type { BringOptions } from "./worlds.ts";
import type { Listing } from "../../support/listing.ts";

/** One poll after another: what each one did to the list, and how it was taken. */
export interface Poll extends Pick<BringOptions, "witnessed"> {
  readonly listing: Listing;
  readonly waitMs: number;
  /** Every so manieth sandbox gets no mark. */
  readonly unmarkedEvery: number;
}

export interface World {
  readonly polls: readonly Poll[];
  readonly goneAfter: number;
}

type Edit = (typeof edits)[number];

const edits = [
  "none",
  "again",
  "insert",
  "remove",
  "reorder",
  "reverse",
  "shuffle",
  "change",
  "change",
  "twin",
  "copy",
  "clear",
] as const;

interface PollSeed {
  readonly edits: readonly Edit[];
  readonly seed: number;
  /** The share of sandboxes that an edit is about. */
  readonly share: number;
  readonly complete: boolean;
  readonly witnessed: boolean;
  readonly waitMs: number;
  readonly unmarkedEvery: number;
}

const pollSeeds: fc.Arbitrary<PollSeed> = fc.record({
  edits: fc.array(fc.constantFrom(...edits), { maxLength: 3 }),
  seed: fc.nat(),
  share: fc.constantFrom(0.002, 0.02, 0.2, 0.7),
  complete: fc.constantFrom(true, true, false),
  witnessed: fc.constantFrom(true, true, false),
  waitMs: fc.constantFrom(0, 30_000, 30_000.25),
  unmarkedEvery: fc.constantFrom(1, 7, 100_000),
});

/** Sequences of listings that each have much of the one before. */
export function worlds(maxSandboxes: number, maxPolls: number): fc.Arbitrary<World> {
  return fc
    .record({
      seed: fc.nat(),
      sandboxes: fc.integer({ min: 0, max: maxSandboxes }),
      goneAfter: fc.integer({ min: 1, max: 3 }),
      polls: fc.array(pollSeeds, { minLength: 1, maxLength: maxPolls }),
    })
    .map(({ seed, sandboxes, goneAfter, polls }) => {
      const idPool = Math.ceil(sandboxes * 1.5) + 3;
      let current = pick(distinct(seed, idPool), sandboxes);
      let last: Poll | null = null;
      return {
        goneAfter,
        polls: polls.map((poll): Poll => {
          const { complete, witnessed, waitMs, unmarkedEvery } = poll;
          const base = current;
          // The very body of the poll before.
          if (last && poll.edits.includes("again")) {
            return { ...last, witnessed, waitMs };
          }
          current = poll.edits.reduce((list, edit) => applyEdit(list, edit, poll, idPool), base);
          const listing = { sandboxes: current, complete };
          if (poll.edits.includes("clear")) current = base;
          return (last = { listing, witnessed, waitMs, unmarkedEvery });
        }),
      };
    });
}

function putIn(
  list: readonly ListedSandbox[],
  sandbox: ListedSandbox,
  random: () => number,
): readonly ListedSandbox[] {
  return list.toSpliced(Math.floor(random() * (list.length + 1)), 0, sandbox);
}

function applyEdit(
  list: readonly ListedSandbox[],
  edit: Edit,
  { seed, share }: PollSeed,
  idPool: number,
): readonly ListedSandbox[] {
  const random = seededRandom(seed ^ (edits.indexOf(edit) << 8));
  const isChosen = (): boolean => random() < share;
  switch (edit) {
    case "none":
    case "again":
      return list;
    case "clear":
      return [];
    case "reverse":
      return list.toReversed();
    case "remove":
      return list.filter(() => !isChosen());
    case "change":
      return list.map((sandbox) => (isChosen() ? changed(sandbox, random) : sandbox));
    case "reorder": {
      const moved = list.filter(isChosen);
      const rest = list.filter((sandbox) => !moved.includes(sandbox));
      return rest.toSpliced(Math.floor(random() * (rest.length + 1)), 0, ...moved);
    }
    case "shuffle":
      return list
        .map((sandbox) => ({ sandbox, at: random() }))
        .toSorted((a, b) => a.at - b.at)
        .map(({ sandbox }) => sandbox);
    case "copy":
      return list.filter(isChosen).reduce((grown, each) => putIn(grown, each, random), list);
    case "insert": {
      const known = new Set(list.map(({ sandboxId }) => sandboxId));
      const fresh = distinct(seed, idPool).filter(({ sandboxId }) => !known.has(sandboxId));
      const few = pick(fresh, Math.ceil(share * 10 + share * list.length));
      return few.reduce((grown, each) => putIn(grown, each, random), list);
    }
    case "twin":
      return list.flatMap((sandbox) => {
        if (!isChosen()) return [sandbox];
        return [sandbox, changed(sandbox, random)];
      });
  }
}

function changed(sandbox: ListedSandbox, random: () => number): ListedSandbox {
  const choose = <Value>(values: readonly [Value, ...Value[]]): Value =>
    values[Math.floor(random() * values.length)] ?? values[0];
  const other = sandboxOf(sandbox.sandboxId, random);
  return choose<() => ListedSandbox>([
    () => other,
    () => ({ ...sandbox, status: other.status }),
    () => ({ ...sandbox, benchmark: other.benchmark }),
    () => ({ ...sandbox, servers: sandbox.servers.toReversed() }),
    () => ({ ...sandbox, servers: sandbox.servers.slice(1) }),
    () => ({
      ...sandbox,
      servers: sandbox.servers.map((server) => ({ ...server, status: other.status })),
    }),
    () => ({
      ...sandbox,
      servers: sandbox.servers.map((server) => ({ ...server, tags: [...server.tags, "more"] })),
    }),
  ])();
}

/** The pool's sandboxes; their ids are always the same, all else is not. */
function distinct(seed: number, count: number): readonly ListedSandbox[] {
  const random = seededRandom(seed);
  return Array.from({ length: count }, (_, index) => sandboxOf(idOf(index), random));
}

function sandboxOf(sandboxId: string, random: () => number): ListedSandbox {
  const choose = <Value>(values: readonly [Value, ...Value[]]): Value =>
    values[Math.floor(random() * values.length)] ?? values[0];
  const servers = Array.from({ length: 7 }, (_, index) => index)
    .filter(() => random() < 0.4)
    .map((index): ListedServer => ({
      serverId: idOf(index + 3),
      serverName: choose(["github", "git", "cal.com", "constructor", "", null]),
      status: choose(statuses),
      benchmark: choose([null, null, "MCP_Atlas", "沙箱"]),
      tags: choose([[], [], ["prod"], ["prod", "blue"], ['q"\n']]),
    }));
  return {
    sandboxId,
    status: choose(statuses),
    benchmark: choose([null, null, "MCP_Atlas", "Toolathlon"]),
    servers: random() < 0.5 ? servers : servers.toReversed(),
  };
}

/** Of every kind of id some, and pairs that differ only in what a careless packing would drop. */
function idOf(index: number): string {
  const digits = (Math.floor(index / 8) * 0x9e37 + 0xabc).toString(16).padStart(8, "0");
  const uuid = `${digits}-0f0e-4abc-8def-${digits}ffff`;
  switch (index % 8) {
    case 0:
      return uuid;
    case 1:
      return uuid.toUpperCase();
    case 2:
      return uuid.replaceAll("-", "_");
    case 3:
      return `${uuid.slice(0, -1)}g`;
    case 4:
      return uuid.replaceAll("-", "");
    case 5:
      return `沙箱 🏖 ${digits}`;
    case 6:
      return `${uuid.slice(0, 8)}\u00e9${uuid.slice(9)}`;
    default:
      return `ffffffff-ffff-ffff-${uuid.slice(19)}`;
  }
}

function pick(list: readonly ListedSandbox[], count: number): readonly ListedSandbox[] {
  return list.slice(0, count);
}
