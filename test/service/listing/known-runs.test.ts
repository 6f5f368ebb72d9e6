import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { atOnce } from "../../../src/core/in-steps.ts";
import { openIntake } from "../../../src/core/snapshot/intake.ts";
import type { SnapshotIntake } from "../../../src/core/snapshot/intake.ts";
import { emptySnapshot } from "../../../src/core/snapshot/packed-snapshot.ts";
import type { PackedSnapshot } from "../../../src/core/snapshot/packed-snapshot.ts";
import { spelledOut } from "../../core/support/unpacked.ts";
import { changesOf } from "../../support/take-in.ts";
import { createMemory, cutBody, readChunks } from "../support/read-chunks.ts";
import { sandbox, server } from "../wire.ts";

/** As many sandboxes make three pages. */
const many = 250;
const pages = 3;

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

/** How often a reader asked for one sandbox, and took a whole run. */
interface Calls {
  expected: number;
  sameRun: number;
}

function countCalls(intake: SnapshotIntake): Calls {
  const calls: Calls = { expected: 0, sameRun: 0 };
  const expected = intake.expected.bind(intake);
  const sameRun = intake.sameRun.bind(intake);
  Object.assign(intake, {
    expected() {
      calls.expected++;
      return expected();
    },
    sameRun() {
      calls.sameRun++;
      sameRun();
    },
  });
  return calls;
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
      const options = { complete, atMs: 1_000, observedMs: 1_000, witnessed: true };
      const sighting = atOnce(intake.finish(options));
      if (isTaken) ({ snapshot } = sighting);
      const changes = changesOf(sighting.changes);
      const after = spelledOut(sighting.snapshot);
      return { ...calls, told: { complete, deviations, changes, pages: after } };
    },
  };
}

/** One that came often enough for all that is to be known of it. */
function wellKnown(body = bodyOf(items)) {
  const target = createTarget();
  for (let poll = 0; poll < 5; poll++) target.read(body);
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

/** One of which the next body is learnt, where it is as the ones before. */
function nearlyKnown(body: Buffer) {
  const target = createTarget();
  for (let poll = 0; poll < 3; poll++) target.read(body);
  return target;
}

describe("a listing that came several times", () => {
  it.each([
    ["as it is", []],
    ["in pieces", [1_000, 7]],
  ])("is known by its runs, %s: no sandbox is asked for", (_, sizes) => {
    expect(wellKnown().read(bodyOf(items), { sizes })).toMatchObject({
      expected: 0,
      sameRun: pages,
    });
  });

  it("is read sandbox by sandbox where one differs, and known by its runs elsewhere", () => {
    const target = wellKnown();
    const changed = items.with(130, itemText("box-0130", "error"));
    const read = target.read(bodyOf(changed));
    expect(read).toMatchObject({ expected: 96, sameRun: pages - 1 });
    expect(read.told).toMatchObject({ changes: [{ sandboxId: "box-0130", to: "error" }] });
  });

  it("with other spaces between is read, and known with these from then on", () => {
    const target = wellKnown();
    // Of the first run it is not known in time how much is between.
    const spaced = bodyOf(items, { gap: " ,\n" });
    const runs = Array.from({ length: 4 }, () => target.read(spaced).sameRun);
    expect(runs).toEqual([0, 0, pages - 1, pages - 1]);
  });

  it("is not known by its runs when something was remarked of each", () => {
    const odd = bodyOf(items.map((_, at) => itemText(nameOf("box", at), "idle", { odd: 1 })));
    const { sameRun, told } = wellKnown(odd).read(odd);
    expect(sameRun).toBe(0);
    expect(told).toMatchObject({ deviations: [{ problem: "unknown_field", count: many }] });
  });

  it("with something between that is no sandbox says so each time", () => {
    const odd = bodyOf(items.toSpliced(50, 0, "null"));
    const target = wellKnown(odd);
    expect(target.read(odd).told).toMatchObject({ complete: false });
    expect(target.read(odd)).toMatchObject({ sameRun: pages - 1 });
  });
});

describe("what a run comes in", () => {
  const [one, two] = [itemText("one", "idle"), itemText("two", "error")];

  it("is not learnt of a listing that held something else in between, as long as what it lacks", () => {
    const target = nearlyKnown(bodyOf([one, two]));
    const other = two.replace("local_sandbox_id", "local_sandbox_ix");
    target.read(bodyOf([one, other, two]));
    const { told } = target.read(bodyOf([one, other]));
    expect(told).toMatchObject({ complete: false, pages: [{ sandboxes: [{}, { missing: 0 }] }] });
    expect(told).not.toMatchObject({ deviations: [] });
  });

  it.each([
    ["yet", nearlyKnown],
    ["any more", wellKnown],
  ])("is not known %s where something is to be remarked, in as long a text", (_, known) => {
    const target = known(bodyOf([one, two]));
    const odd = bodyOf([one, two.replace("created_at", "created_ax")]);
    for (let poll = 0; poll < 8; poll++) {
      const { told } = target.read(odd);
      expect(told).toMatchObject({ deviations: [{ problem: "unknown_field" }, {}] });
    }
  });

  it("is not taken for that of the next page, when the two are as long as one", () => {
    const [first, second, third] = [itemsOf("a", 96), itemsOf("b", 96), itemsOf("c", 56)];
    const rest = second.slice(56);
    const twins = rest.map((text) => text.replace('"idle"', '"busy"'));
    const lists = [
      ...repeat(5, [...first, ...second, ...third]),
      [...first, ...rest, ...third],
      ...repeat(2, [...first, ...twins, ...rest, ...third]),
    ];
    const { known, read } = tell(lists.map((list) => bodyOf(list)));
    expect(known).toEqual(read);
  });

  it("is not taken for that of the next page, after sandboxes that were far away came back", () => {
    const [first, second, third] = [itemsOf("a", 96 * 45), itemsOf("b", 96), itemsOf("c", 56)];
    const rest = second.slice(56);
    const touched = third.with(3, itemText(nameOf("c", 3), "idle", { created_at: null }));
    const lists = [
      ...repeat(4, [...first, ...second, ...third]),
      [...first, ...rest, ...third],
      ...repeat(3, [...rest, ...first, ...touched]),
      [...first, ...rest, ...third],
    ];
    const { known, read } = tell(lists.map((list) => bodyOf(list)));
    expect(known).toEqual(read);
  });

  it("is known no more than once where a sandbox of it comes again behind it", () => {
    const all = itemsOf("box", many);
    const twin = itemText(nameOf("box", 120), "error");
    const lists = [...repeat(5, all), [...all, twin], all, all];
    const { known, read } = tell(lists.map((list) => bodyOf(list)));
    expect(known).toEqual(read);
  });

  it("is not learnt of two lists in one body", () => {
    const [a, b] = [itemsOf("a", 40), itemsOf("b", 60)];
    const both = (first: readonly string[], second: readonly string[]): Buffer =>
      Buffer.from(
        `{"local_sandboxes":[${first.join()}], "local_sandboxes":[${second.join()}],"total_count":100}`,
      );
    const { known, read } = tell([
      ...repeat(4, bodyOf([...a, ...b])),
      ...repeat(3, both(a, [...a, ...b])),
      ...repeat(3, both([...a, ...b], [...b, ...a])),
      ...repeat(2, bodyOf([...a, ...b])),
    ]);
    expect(known).toEqual(read);
  });

  it("is not learnt of other statuses in a poll that came to nothing", () => {
    const target = nearlyKnown(bodyOf([one, two]));
    const swapped = bodyOf([itemText("one", "error"), itemText("two", "idle")]);
    for (let poll = 0; poll < 5; poll++) {
      const { told } = target.read(swapped, { isTaken: false });
      expect(told).toMatchObject({ changes: [{ to: "error" }, { to: "idle" }] });
    }
  });

  it("is not waited for where it is long", () => {
    const metadata = "x".repeat(5_000);
    const long = items.map((_, at) =>
      JSON.stringify({
        ...sandbox,
        local_sandbox_id: nameOf("box", at),
        servers: [{ ...server, metadata: { note: metadata } }],
      }),
    );
    expect(wellKnown(bodyOf(long)).read(bodyOf(long))).toMatchObject({
      expected: many,
      sameRun: 0,
    });
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

it("whatever came how often, runs that are known tell what each sandbox would", () => {
  let runs = 0;
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
          runs += known.sameRun;
        }
      }
    }),
    { numRuns: 60 },
  );
  expect(runs).toBeGreaterThan(0);
});
