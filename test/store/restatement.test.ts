import * as fc from "fast-check";
import { expect, it } from "vitest";
import {
  sandboxField,
  sandboxWords,
  serverField,
  serverWords,
  setStatus,
  packSince,
  putSince,
} from "../../src/core/snapshot/page-records.ts";
import type { Since } from "../../src/core/snapshot/page-records.ts";
import { applyRestatement, restatementLength, restatementOf } from "../../src/store/restatement.ts";
import type { Records } from "../../src/store/restatement.ts";

const now: Since = {
  sinceMs: 1_795_000_000_123,
  sinceObservedMs: 86_400_000,
  sinceWitnessed: true,
};

/** Any records: no word of them need make sense. */
const records = fc
  .tuple(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 120 }), fc.integer())
  .map(([sandboxCount, servers, seed]): Records => {
    const length = sandboxCount * sandboxWords + servers * serverWords;
    const words = Uint32Array.from({ length }, (_, at) => Math.imul(seed ^ at, 0x9e37_79b1) >>> 0);
    return { sandboxCount, words };
  });

const statuses = fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 60 });

const copyOf = ({ sandboxCount, words }: Records): Records => ({
  sandboxCount,
  words: words.slice(),
});

const serverAt = ({ sandboxCount }: Records, server: number): number =>
  sandboxCount * sandboxWords + server * serverWords;

const serversOf = (page: Records): number => (page.words.length - serverAt(page, 0)) / serverWords;

/** Each server that is given another status has it since now. */
function restated(before: Records, given: readonly number[], since = now): Records {
  const after = copyOf(before);
  const { words, sandboxCount } = after;
  for (let sandbox = 0; sandbox < sandboxCount; sandbox++) {
    const flags = sandbox * sandboxWords + sandboxField.flags;
    setStatus(words, flags, given[sandbox % given.length] ?? 0);
  }
  for (let server = 0; server < serversOf(before); server++) {
    const at = serverAt(before, server);
    const flags = before.words[at + serverField.flags] ?? 0;
    setStatus(words, at + serverField.flags, given[server % given.length] ?? 0);
    if (words[at + serverField.flags] !== flags) putSince(words, at, packSince(since));
  }
  return after;
}

it("records of which any servers changed their status at one moment are restated as they are", () => {
  fc.assert(
    fc.property(records, statuses, (before, given) => {
      const after = restated(before, given);
      const restatement = restatementOf(before, after);
      expect(restatement).toHaveLength(restatementLength(before));
      const applied = copyOf(before);
      applyRestatement(applied, restatement ?? new Uint32Array(0));
      expect(applied.words).toEqual(after.words);
    }),
  );
});

const two: Records = { sandboxCount: 1, words: new Uint32Array(sandboxWords + 2 * serverWords) };

/** By their places in the records, what else each word of a server holds. */
it.each([
  ...Array.from({ length: sandboxWords }, (_, word) => [`sandbox, word ${word}`, word] as const),
  ...[0, 1, 2, 3].map((word) => [`server, word ${word}`, sandboxWords + word] as const),
  ["server, kind", sandboxWords + serverField.kind],
  ["server, how often it was missing", sandboxWords + serverField.flags, 1 << 16],
  ["server, whether its id is a text", sandboxWords + serverField.flags, 1 << 3],
] as const)("records with another difference have no restatement: %s", (_, at, bit = 1 << 3) => {
  const after = restated(two, [1]);
  after.words[at] = (after.words[at] ?? 0) ^ bit;
  expect(restatementOf(two, after)).toBeNull();
});

const others = [
  ["the time", { ...now, sinceMs: now.sinceMs + 1 }],
  ["the time's upper bits", { ...now, sinceMs: now.sinceMs + 2 ** 32 }],
  ["the observed clock", { ...now, sinceObservedMs: now.sinceObservedMs + 1 }],
  ["the observed clock's upper bits", { ...now, sinceObservedMs: now.sinceObservedMs + 2 ** 32 }],
  ["whether it was witnessed", { ...now, sinceWitnessed: false }],
] as const;

it.each(others)("records that changed at two moments have no restatement: %s", (_, other) => {
  const after = restated(two, [1]);
  putSince(after.words, sandboxWords + serverWords, packSince(other));
  expect(restatementOf(two, after)).toBeNull();
});

it.each(others)("a moment that is another one in a single field is restated: %s", (_, other) => {
  const before = restated(two, [1], other);
  const after = restated(before, [2]);
  const applied = copyOf(before);
  applyRestatement(applied, restatementOf(before, after) ?? new Uint32Array(0));
  expect(applied.words).toEqual(after.words);
});

it("a page of four servers in each sandbox is restated in a sixtieth of its room", () => {
  const words = new Uint32Array(50 * sandboxWords + 200 * serverWords);
  expect(words.length / restatementLength({ sandboxCount: 50, words })).toBeGreaterThan(60);
});
