import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { atOnce } from "../../../src/core/in-steps.ts";
import { openIntake } from "../../../src/core/snapshot/intake.ts";
import type { SnapshotIntake } from "../../../src/core/snapshot/intake.ts";
import { emptySnapshot } from "../../../src/core/snapshot/packed-snapshot.ts";
import type { PackedSnapshot } from "../../../src/core/snapshot/packed-snapshot.ts";
import type { Sighting } from "../../../src/core/snapshot/sighting.ts";
import { ListingReader } from "../../../src/service/listing/listing-reader.ts";
import { spelledOut } from "../../core/support/unpacked.ts";
import { changesOf } from "../../support/take-in.ts";
import { createMemory, cutBody, readChunks } from "../support/read-chunks.ts";
import { sandbox, server } from "../wire.ts";

/** As many sandboxes make three pages. */
const many = 250;

function itemText(name: string, status: string, more: object = {}): string {
  const servers = [{ ...server, id: `${name}-v`, status }];
  return JSON.stringify({ ...sandbox, local_sandbox_id: name, servers, ...more });
}

/** All of one length. */
function itemsOf(kind: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) => itemText(nameOf(kind, at), "idle"));
}

const nameOf = (kind: string, at: number): string => `${kind}-${String(at).padStart(4, "0")}`;

const items = itemsOf("box", many);

interface Layout {
  /** Between two items. */
  readonly gap?: string;
  /** Behind the item at this place, in place of that. */
  readonly oddGap?: readonly [at: number, gap: string];
  readonly totalCount?: number;
}

function bodyOf(list: readonly string[], layout: Layout = {}): Buffer {
  const { gap = ",", oddGap, totalCount = list.length } = layout;
  const gapAt = (at: number): string => (oddGap?.[0] === at ? oddGap[1] : gap);
  const text = list.map((item, at) => (at < list.length - 1 ? item + gapAt(at) : item)).join("");
  return Buffer.from(`{"local_sandboxes":[${text}],"total_count":${totalCount}}`);
}

/** How many sandboxes a reader asked for alone, and how many it took at once with others. */
interface Calls {
  expected: number;
  inRows: number;
}

function countCalls(intake: SnapshotIntake): Calls {
  const calls: Calls = { expected: 0, inRows: 0 };
  const expected = intake.expected.bind(intake);
  const sameTexts = intake.sameTexts.bind(intake);
  Object.assign(intake, {
    expected() {
      calls.expected++;
      return expected();
    },
    sameTexts(count: number) {
      calls.inRows += count;
      sameTexts(count);
    },
  });
  return calls;
}

function finish(intake: SnapshotIntake, complete = true): Sighting {
  return atOnce(intake.finish({ complete, atMs: 1_000, observedMs: 1_000, witnessed: true }));
}

interface Reading {
  readonly sizes?: readonly number[];
  readonly isTaken?: boolean;
}

/** A target whose bodies are read one after another, none of them as one that is known as a whole. */
function createTarget({ remembers = true } = {}) {
  let memory = createMemory();
  let snapshot: PackedSnapshot = emptySnapshot;
  return {
    /** @param isTaken false: the poll comes to nothing */
    read(body: Buffer, { sizes = [], isTaken = true }: Reading = {}) {
      if (!remembers) memory = createMemory();
      const intake = openIntake({ ...snapshot, body: null }, { goneAfter: 2 });
      const calls = countCalls(intake);
      const outcome = readChunks(cutBody(body, sizes), intake, memory);
      if (outcome.kind === "refused") return { ...calls, told: outcome.reason };
      const { complete, deviations } = outcome;
      const sighting = finish(intake, complete);
      if (isTaken) ({ snapshot } = sighting);
      const changes = changesOf(sighting.changes);
      const after = spelledOut(sighting.snapshot);
      return { ...calls, told: { complete, deviations, changes, pages: after } };
    },
  };
}

/** One that came before. */
function wellKnown(body = bodyOf(items)) {
  const target = createTarget();
  target.read(body);
  return target;
}

const repeat = <T>(count: number, each: T): readonly T[] =>
  Array.from({ length: count }, () => each);

/** What bodies tell that are read one after another, and what each would if nothing were known. */
function tell(bodies: readonly Buffer[]) {
  const [knowing, forgetful] = [createTarget(), createTarget({ remembers: false })];
  return {
    known: bodies.map((body) => knowing.read(body).told),
    read: bodies.map((body) => forgetful.read(body).told),
  };
}

describe("a listing that came before", () => {
  it("is taken without asking for a sandbox", () => {
    expect(wellKnown().read(bodyOf(items))).toMatchObject({ expected: 0, inRows: many });
  });

  it("is so in pieces too, where none of them ends within a sandbox", () => {
    const { inRows, told } = wellKnown().read(bodyOf(items), { sizes: [1_000, 7] });
    expect(inRows).toBeGreaterThan(0);
    expect(told).toEqual(wellKnown().read(bodyOf(items)).told);
  });

  it("is asked about where a sandbox differs, and where the next one shows that it is in order", () => {
    const target = wellKnown();
    const changed = items.with(130, itemText("box-0130", "error"));
    const read = target.read(bodyOf(changed));
    expect(read).toMatchObject({ expected: 2, inRows: many - 2 });
    expect(read.told).toMatchObject({ changes: [{ sandboxId: "box-0130", to: "error" }] });
  });

  it.each([[" ,\n"], ["\t\r,"], [",  "]])("is known with %j between, too", (gap) => {
    expect(wellKnown().read(bodyOf(items, { gap }))).toMatchObject({ expected: 0, inRows: many });
  });

  it.each([["", ";", ",,", ",]", "}", ",x,", "\u00a0,"]].flat())(
    "is refused with %j between two of its sandboxes",
    (gap) => {
      const { told } = wellKnown().read(bodyOf(items, { oddGap: [40, gap] }));
      expect(told).toBe("invalid_body");
    },
  );

  it("is asked about sandbox by sandbox where something was remarked of each", () => {
    const odd = bodyOf(items.map((_, at) => itemText(nameOf("box", at), "idle", { odd: 1 })));
    const { inRows, told } = wellKnown(odd).read(odd);
    expect(inRows).toBe(0);
    expect(told).toMatchObject({ deviations: [{ problem: "unknown_field", count: many }] });
  });

  it("says so each time that something stands between that is no sandbox", () => {
    const odd = bodyOf(items.toSpliced(50, 0, "null"));
    const target = wellKnown(odd);
    expect(target.read(odd).told).toMatchObject({ complete: false });
    expect(target.read(odd).told).toMatchObject({ complete: false });
  });

  it("is joined with a sandbox of it that comes again behind it", () => {
    const all = itemsOf("box", many);
    const twin = itemText(nameOf("box", 120), "error");
    const { known, read } = tell([all, all, [...all, twin], all].map((list) => bodyOf(list)));
    expect(known).toEqual(read);
  });

  it("counts as it came last where it comes twice in one body", () => {
    const [a, b] = [itemsOf("a", 40), itemsOf("b", 60)];
    const both = (first: readonly string[], second: readonly string[]): Buffer =>
      Buffer.from(
        `{"local_sandboxes":[${first.join()}], "local_sandboxes":[${second.join()}],"total_count":100}`,
      );
    const { known, read } = tell([
      ...repeat(2, bodyOf([...a, ...b])),
      both(a, [...a, ...b]),
      ...repeat(2, both([...a, ...b], [...b, ...a])),
      bodyOf([...a, ...b]),
    ]);
    expect(known).toEqual(read);
  });

  it("is known by what it was, after polls of it that came to nothing", () => {
    const [one, two] = [itemText("one", "idle"), itemText("two", "error")];
    const target = wellKnown(bodyOf([one, two]));
    const swapped = bodyOf([itemText("one", "error"), itemText("two", "idle")]);
    for (let poll = 0; poll < 3; poll++) {
      const { told } = target.read(swapped, { isTaken: false });
      expect(told).toMatchObject({ changes: [{ to: "error" }, { to: "idle" }] });
    }
  });

  it("is known though its sandboxes are longer than what is looked at at once", () => {
    const long = bodyOf(
      Array.from({ length: 5 }, (_, at) =>
        itemText(nameOf("box", at), "idle", {
          servers: [{ ...server, metadata: { note: "x".repeat(100_000 * at) } }],
        }),
      ),
    );
    const target = wellKnown(long);
    for (const sizes of [[], [65_536], [1_000_000]]) {
      expect(target.read(long, { sizes }).told).toMatchObject({ changes: [] });
    }
    expect(target.read(long)).toMatchObject({ expected: 0, inRows: 5 });
  });

  it("says what it would alone when another one is read beside it, a piece of each in turn", () => {
    const memory = createMemory();
    const targets = (["error", "occupied"] as const).map((status, nth) => {
      const texts = itemsOf(`target${nth}`, many);
      const intake = openIntake(emptySnapshot, { goneAfter: 2 });
      readChunks([bodyOf(texts)], intake, memory);
      const next = openIntake(finish(intake).snapshot, { goneAfter: 2 });
      const body = bodyOf(texts.map((text) => text.replaceAll("idle", status)));
      const reader = new ListingReader(next, memory);
      return { status, intake: next, reader, chunks: cutBody(body, [7_001]) };
    });
    for (let turn = 0; turn < 1_000; turn++) {
      for (const { reader, chunks } of targets) {
        const chunk = chunks[turn];
        if (chunk) reader.push(chunk);
        else reader.end();
        reader.advance();
      }
    }
    for (const { status, intake, reader } of targets) {
      expect(reader.outcome).toMatchObject({ kind: "read", complete: true });
      const changes = changesOf(finish(intake).changes);
      expect(new Set(changes.map(({ to }) => to))).toEqual(new Set([status]));
      expect(changes).toHaveLength(many);
    }
  });
});

const edits = [
  "restate",
  "touch",
  "remark",
  "rename",
  "null",
  "swap",
  "far",
  "twin",
  "insert",
  "remove",
] as const;

function edited(list: readonly string[], [kind, at, to]: readonly [string, number, number]) {
  const place = at % Math.max(1, list.length);
  const name = /"local_sandbox_id":"([^"]*)"/.exec(list[place] ?? "")?.[1] ?? "none";
  switch (kind) {
    case "restate":
      return list.with(place, itemText(name, to % 2 === 0 ? "error" : "occupied"));
    case "touch":
      return list.with(place, itemText(name, "idle", { created_at: `2026-01-01T00:00:00.${to}Z` }));
    case "remark":
      return list.with(place, itemText(name, "idle", { odd: to }));
    case "rename":
      return list.with(place, (list[place] ?? "null").replace("created_at", "created_ax"));
    case "null":
      return list.toSpliced(place, 0, "null");
    case "swap":
      return list.toSpliced(place, 2, ...list.slice(place, place + 2).toReversed());
    case "far":
      return list.toSpliced(place, 1).toSpliced(to % list.length, 0, list[place] ?? "null");
    case "twin":
      return list.toSpliced(to % list.length, 0, list[place] ?? "null");
    case "insert":
      return list.toSpliced(place, 0, itemText(nameOf("new", to), "idle"));
    default:
      return list.toSpliced(place, 1 + (to % 96));
  }
}

const place = fc.nat(many * 2);
const gap = fc.constantFrom(",", ",", ", ", "\n,\n");
const polls = fc.array(
  fc.record({
    edits: fc.array(fc.tuple(fc.constantFrom(...edits), place, place), { maxLength: 2 }),
    layout: fc.record(
      { gap, oddGap: fc.tuple(place, gap), totalCount: fc.constantFrom(many, 7) },
      { requiredKeys: [] },
    ),
    times: fc.integer({ min: 1, max: 5 }),
    sizes: fc.constantFrom([], [4_096], [37, 1_000]),
  }),
  { minLength: 1, maxLength: 5 },
);

it("whatever came how often, what is taken at once tells what each sandbox would", () => {
  let inRows = 0;
  fc.assert(
    fc.property(polls, (steps) => {
      const [knowing, forgetful] = [createTarget(), createTarget({ remembers: false })];
      let list = items;
      for (const { edits: each, layout, times, sizes } of steps) {
        list = each.reduce(edited, list);
        const body = bodyOf(list, layout);
        for (let time = 0; time < times; time++) {
          const known = knowing.read(body, { sizes });
          expect(known.told).toEqual(forgetful.read(body).told);
          inRows += known.inRows;
        }
      }
    }),
    { numRuns: 40 },
  );
  expect(inRows).toBeGreaterThan(0);
});
