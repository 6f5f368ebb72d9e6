import { describe, expect, it } from "vitest";
import type { Store } from "../../../src/store/store.ts";
import { ledgerStartMs, tally } from "../../alerts/support/ledger.ts";
import { collect } from "../../support/collect.ts";
import { research } from "../../support/fleet.ts";
import { openBooks } from "../support/books.ts";
import { engines } from "../support/engines.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const git = [tally("git", { idle: 2 })];
const minutesAfter = (minutes: number): number => ledgerStartMs + minutes * minuteMs;

describe.each(engines)("on $name", (engine) => {
  describe("gaps", () => {
    const blind = { observed: false };

    /** In minutes since the first poll. */
    const gapsOf = async (store: Store, fromMinutes = -60, toMinutes = 1e6) => {
      const range = { fromMs: minutesAfter(fromMinutes), toMs: minutesAfter(toMinutes) };
      const gaps = await collect(store.occupancy.gaps({ target: research, ...range }));
      return gaps.map(({ fromMs, toMs }) =>
        [fromMs, toMs].map((ms) => (ms - ledgerStartMs) / minuteMs),
      );
    };

    it("are one for as long as nobody watched, also where it was restarted meanwhile", async () => {
      await using books = await openBooks(engine);
      const target = await books.book(research);
      await target.pass(0, git, blind);
      expect(await gapsOf(books.store)).toEqual([]);
      await target.pass(minuteMs, git);
      await target.pass(minuteMs, git, blind);
      await target.restart();
      await target.pass(10 * minuteMs, git, blind);
      await target.pass(minuteMs, git);
      await target.pass(minuteMs, git, blind);
      expect(await gapsOf(books.store)).toEqual([
        [1, 12],
        [13, 14],
      ]);
    });

    it("are clipped to the range", async () => {
      await using books = await openBooks(engine);
      const target = await books.book(research);
      await target.pass(0, git);
      for (let turn = 0; turn < 3; turn++) {
        await target.pass(10 * minuteMs, git, blind);
        await target.pass(10 * minuteMs, git);
      }
      expect(await gapsOf(books.store, 5, 45)).toEqual([
        [5, 10],
        [20, 30],
        [40, 45],
      ]);
      expect(await gapsOf(books.store, 10, 20)).toEqual([]);
      expect(await gapsOf(books.store, 9, 5)).toEqual([]);
    });

    it("are what the calendar passed over, as when the machine was suspended", async () => {
      await using books = await openBooks(engine);
      const target = await books.book(research);
      await target.pass(0, git);
      await target.pass(minuteMs, git, { steppedMs: 999 });
      expect(await gapsOf(books.store)).toEqual([]);
      await target.pass(minuteMs, git, { steppedMs: hourMs - 999 });
      expect(await gapsOf(books.store)).toEqual([[1 + 999 / minuteMs, 61]]);
    });

    it("never overlap, though the clock was set back", async () => {
      await using books = await openBooks(engine);
      const target = await books.book(research);
      await target.pass(0, git);
      await target.pass(10 * minuteMs, git, blind);
      await target.pass(minuteMs, git, { ...blind, steppedMs: -8 * minuteMs });
      await target.pass(minuteMs, git);
      await target.pass(10 * minuteMs, git, blind);
      expect(await gapsOf(books.store)).toEqual([[0, 14]]);
    });

    it("are all given, however many there are", async () => {
      await using books = await openBooks(engine);
      const target = await books.book(research);
      await target.pass(0, git);
      for (let turn = 0; turn < 1_100; turn++)
        await target.pass(minuteMs, git, { observed: turn % 2 === 1 });
      expect(await gapsOf(books.store)).toHaveLength(550);
    });

    it("are none of a target that was never watched", async () => {
      await using books = await openBooks(engine);
      expect(await gapsOf(books.store)).toEqual([]);
    });
  });
});
