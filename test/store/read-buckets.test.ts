import { expect, it } from "vitest";
import { resolutionMs, resolutions } from "../../src/core/occupancy/bucket.ts";
import { ledgerStartMs, tally } from "../core/support/ledger.ts";
import { collectSome } from "../support/collect.ts";
import { research } from "../support/fleet.ts";
import { openBooks } from "./support/books.ts";

const dayMs = resolutionMs["1d"];
const sinceMidnightMs = ledgerStartMs % dayMs;
const always = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER };
const git = [tally("git", { idle: 2 })];

it.each(resolutions)(
  "buckets of %s hold once what passed, though in a day that a clock set back made come to 24 hours",
  async (resolution) => {
    await using books = await openBooks();
    const target = await books.book(research);
    await target.pass(0, git);
    await target.pass(0, git, { steppedMs: -sinceMidnightMs });
    await target.pass(dayMs, git, { observed: false });
    const found = await collectSome(books.store.occupancy.buckets({ ...always, resolution }));
    const bookedMs = found.map(({ bucket }) => bucket.bookedMs);
    expect(bookedMs.reduce((sum, each) => sum + each, 0)).toBe(dayMs);
  },
);
