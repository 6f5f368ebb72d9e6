import { describe, expect, it } from "vitest";
import { openIntake } from "../../../src/core/snapshot/intake.ts";
import { emptySnapshot } from "../../../src/core/snapshot/packed-snapshot.ts";
import { BodyFault } from "../../../src/service/listing/body-fault.ts";
import { limits } from "../../../src/service/listing/limits.ts";
import { ListingContent } from "../../../src/service/listing/listing-content.ts";
import { ListingReader } from "../../../src/service/listing/listing-reader.ts";
import { changesOf } from "../../support/take-in.ts";
import { createCollectingIntake } from "../support/collecting-intake.ts";
import {
  bodyOf,
  createTarget,
  finish,
  items,
  itemsOf,
  itemText,
  many,
  nameOf,
  tell,
} from "../support/known-target.ts";
import { createMemory, cutBody, readChunks } from "../support/read-chunks.ts";
import { server } from "../wire.ts";

/** One that came before. */
function wellKnown(body = bodyOf(items)) {
  const target = createTarget();
  target.read(body);
  return target;
}

const repeat = <T>(count: number, each: T): readonly T[] =>
  Array.from({ length: count }, () => each);

describe("a listing that came before", () => {
  it("is taken without telling of any sandbox by itself", () => {
    expect(wellKnown().read(bodyOf(items))).toMatchObject({ expected: many, others: 0 });
  });

  it("is so in pieces too", () => {
    const { told, ...calls } = wellKnown().read(bodyOf(items), { sizes: [1_000, 7] });
    expect(calls).toEqual({ expected: many, others: 0 });
    expect(told).toEqual(wellKnown().read(bodyOf(items)).told);
  });

  it("is so too where statuses alone are others", () => {
    const target = wellKnown();
    const changed = items.with(130, itemText("box-0130", "error"));
    const read = target.read(bodyOf(changed));
    expect(read).toMatchObject({ expected: many, others: 0 });
    expect(read.told).toMatchObject({ changes: [{ sandboxId: "box-0130", to: "error" }] });
  });

  it.each([[" ,\n"], ["\t\r,"], [",  "]])("is known with %j between, too", (gap) => {
    expect(wellKnown().read(bodyOf(items, { gap }))).toMatchObject({ expected: many, others: 0 });
  });

  it.each([["", ";", ",,", ",]", "}", ",x,", "\u00a0,"]].flat())(
    "is refused with %j between two of its sandboxes",
    (gap) => {
      const { told } = wellKnown().read(bodyOf(items, { oddGap: [40, gap] }));
      expect(told).toBe("invalid_body");
    },
  );

  it("is so too where something was remarked of each", () => {
    const odd = bodyOf(items.map((_, at) => itemText(nameOf("box", at), "idle", { odd: 1 })));
    const { told, ...calls } = wellKnown(odd).read(odd);
    expect(calls).toEqual({ expected: many, others: 0 });
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
    expect(target.read(long)).toMatchObject({ expected: 5, others: 0 });
  });

  it("is read to its end though a long sandbox became shorter, all of it in one piece", () => {
    const long = (servers: number): Buffer =>
      bodyOf([
        itemText("box", "idle", {
          servers: Array.from({ length: servers }, (_, id) => ({ ...server, id: `v${id}` })),
        }),
      ]);
    const memory = createMemory();
    const first = openIntake(emptySnapshot, { goneAfter: 2 });
    readChunks([long(6_000)], first, memory);
    const reader = new ListingReader(openIntake(finish(first).snapshot, { goneAfter: 2 }), memory);
    reader.push(long(4_000));
    let turns = 0;
    while (reader.advance() === "busy" && turns < 1_000) turns++;
    reader.end();
    while (reader.advance() === "busy" && turns < 1_000) turns++;
    expect(reader.outcome).toMatchObject({ kind: "read", complete: true });
  });

  it("is joined with a sandbox of it that came far before it, from behind it", () => {
    const all = itemsOf("box", 5_000);
    const lists = [all, [...all.slice(-2, -1), ...all]];
    const { known, read } = tell(lists.map((list) => bodyOf(list)));
    expect(known).toEqual(read);
    expect(known[1]).toMatchObject({ deviations: [{}, {}, { problem: "mismatch" }] });
  });

  it("is not read all at once, however many short sandboxes it has", () => {
    const body = bodyOf(itemsOf("box", 5_000));
    const memory = createMemory();
    const first = openIntake(emptySnapshot, { goneAfter: 2 });
    readChunks([body], first, memory);
    const again = openIntake({ ...finish(first).snapshot, body: null }, { goneAfter: 2 });
    const reader = new ListingReader(again, memory);
    reader.push(Buffer.from(body));
    expect(reader.advance()).toBe("busy");
    expect(again.sandboxCount).toBeGreaterThan(0);
    expect(again.sandboxCount).toBeLessThan(1_000);
  });

  it.each([
    ["anew each time that its list begins anew", "0", 30],
    ["no more often for lists that are empty", "", 0],
  ])("has others their turn %s", (_, list, begunAnew) => {
    const lists = Array.from({ length: 31 }, () => `"local_sandboxes":[${list}],`).join("");
    const intake = openIntake(emptySnapshot, { goneAfter: 2 });
    const reader = new ListingReader(intake, createMemory());
    reader.push(Buffer.from(`{${lists}"total_count":1}`));
    reader.end();
    let turns = 0;
    while (reader.advance() === "busy") turns++;
    expect(turns).toBe(begunAnew);
  });

  it("is refused where it holds more items than are taken, though all are known", () => {
    const intake = { ...createCollectingIntake(), takeTexts() {} };
    const memory = createMemory();
    const content = new ListingContent(intake, memory);
    content.begin();
    content.takeTexts(limits.items, memory.texts);
    expect(() => content.takeTexts(1, memory.texts)).toThrow(BodyFault);
  });

  it("is hashed as a whole only once it stays, where all of it came in other statuses", () => {
    const restated = items.map((text) => text.replaceAll("idle", "occupied"));
    const lists = [items, restated, restated, restated, items, items.toReversed(), items];
    const { known, read } = tell(lists.map((list) => bodyOf(list)));
    expect(known).toEqual(read);

    const memory = createMemory();
    let { snapshot } = finish(openIntake(emptySnapshot, { goneAfter: 2 }));
    const othersIn = lists.slice(0, 4).map((list) => {
      const intake = openIntake({ ...snapshot, body: null }, { goneAfter: 2 });
      const takeTexts = intake.takeTexts.bind(intake);
      let others = 0;
      intake.takeTexts = (count, texts) => {
        others += memory.texts.others;
        takeTexts(count, texts);
      };
      readChunks([bodyOf(list)], intake, memory);
      ({ snapshot } = finish(intake));
      return others;
    });
    // Those that are the first ones to be looked at are hashed: others may stay behind them.
    expect(othersIn).toEqual([0, many, expect.any(Number), 0]);
    expect(othersIn[2]).toBeGreaterThan(many * 0.9);
    expect(othersIn[2]).toBeLessThan(many);
  });

  it("is known in other statuses behind sandboxes that moved, and one that came as expected", () => {
    const target = wellKnown();
    const restated = items.map((text) => text.replace("idle", "occupied"));
    const moved = [...items.slice(0, 2).toReversed(), ...items.slice(2, 3), ...restated.slice(3)];
    expect(target.read(bodyOf(moved))).toMatchObject({ expected: many - 2, others: 2 });
  });

  it("is known in other statuses behind one that came as expected, however many before it were none", () => {
    const target = wellKnown();
    const restated = items.slice(1).map((text) => text.replace("idle", "occupied"));
    const body = bodyOf(["null", "null", ...items.slice(0, 1), ...restated]);
    expect(target.read(body)).toMatchObject({ expected: many, others: 0 });
  });

  it("makes a form in vain the more seldom the more often it was, and each time again after a known one", () => {
    const formsMade = (after: readonly string[]): number => {
      const memory = createMemory();
      const first = openIntake(emptySnapshot, { goneAfter: 2 });
      readChunks([bodyOf(items)], first, memory);
      const countKnown = memory.texts.countKnown.bind(memory.texts);
      let made = 0;
      memory.texts.countKnown = (start, count, look) => {
        if (look.withForms) made++;
        return countKnown(start, count, look);
      };
      readChunks([bodyOf(after)], openIntake(finish(first).snapshot, { goneAfter: 2 }), memory);
      return made;
    };
    const inVain = formsMade(items.map(() => "null"));
    expect(inVain).toBeGreaterThan(5);
    expect(inVain).toBeLessThan(10);
    // Each other one is changed beyond its form.
    const odd = items.map((text, at) => (at % 2 === 0 ? text.replace("created_at", "ax") : text));
    expect(formsMade(odd)).toBeGreaterThan(many / 2);
  });

  it("is not taken for another one that is read beside it, wherever both break off", () => {
    const memory = createMemory();
    const bodiesOf = (name: string, [before, after]: readonly [string, string], status: string) =>
      [before, after].map((benchmark, nth) =>
        bodyOf(
          Array.from({ length: 4 }, (_, at) =>
            itemText(nameOf(name, at), nth === 0 ? "idle" : status, { benchmark }),
          ),
        ),
      );
    const targets = [bodiesOf("a", ["one", "two"], "idle"), bodiesOf("b", ["one", "six"], "error")];
    const known = targets.map(([before = Buffer.alloc(0)]) => {
      const intake = openIntake(emptySnapshot, { goneAfter: 2 });
      readChunks([before], intake, memory);
      return finish(intake).snapshot;
    });
    const length = targets[0]?.[1]?.length ?? 0;
    for (let cut = 200; cut < length; cut++) {
      const readers = targets.map(([, after = Buffer.alloc(0)], nth) => {
        const before = known[nth] ?? emptySnapshot;
        const intake = openIntake({ ...before, body: null }, { goneAfter: 2 });
        const chunks = [after.subarray(0, cut), after.subarray(cut)].map((part) =>
          Buffer.from(part),
        );
        return { intake, reader: new ListingReader(intake, memory), chunks };
      });
      for (const turn of [0, 1, 2]) {
        for (const { reader, chunks } of readers) {
          const chunk = chunks[turn];
          if (chunk) reader.push(chunk);
          else reader.end();
          while (reader.advance() === "busy") continue;
        }
      }
      for (const { reader } of readers) {
        expect(reader.outcome).toMatchObject({ kind: "read", complete: true, deviations: [] });
      }
      const changes = readers.map(({ intake }) => changesOf(finish(intake).changes).length);
      expect(changes).toEqual([0, 4]);
    }
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
