import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { ListingMemory } from "../../../src/service/listing/listing-memory.ts";
import { type CollectingIntake, createCollectingIntake } from "../support/collecting-intake.ts";
import {
  anyBody,
  bodyText,
  chunkSizes,
  compact,
  itemsText,
  loose,
  sandboxText,
} from "../support/json-texts.ts";
import { chunkReading, createMemory, cutBody, wholeReading } from "../support/read-chunks.ts";
import { listing, sandbox, server } from "../wire.ts";

test("read in whatever chunks, a body says what it says when parsed as a whole", () => {
  fc.assert(
    fc.property(anyBody, chunkSizes, fc.boolean(), (text, sizes, hasMark) => {
      const body = Buffer.from(hasMark ? `\u{feff}${text}` : text);
      expect(chunkReading(cutBody(body, sizes))).toEqual(wholeReading(body));
    }),
    { numRuns: 120 },
  );
});

const editKinds = ["change", "insert", "remove", "to_end", "to_front", "copy", "reverse"] as const;
type Edit = readonly [kind: (typeof editKinds)[number], at: number, text: string];

function edited(items: readonly string[], edits: readonly Edit[]): readonly string[] {
  const next = [...items];
  for (const [kind, position, text] of edits) {
    const at = position % (next.length + 1);
    if (kind === "change") next.splice(at, 1, text);
    else if (kind === "insert") next.splice(at, 0, text);
    else if (kind === "remove") next.splice(at, 1);
    else if (kind === "to_end") next.push(...next.splice(at, 1));
    else if (kind === "to_front") next.unshift(...next.splice(at, 1));
    else if (kind === "copy")
      next.splice(text.length % (next.length + 1), 0, ...next.slice(at, at + 1));
    else next.reverse();
  }
  return next;
}

const polls = fc.constantFrom(loose, compact).chain((layout) => {
  const edit = fc.tuple(fc.constantFrom(...editKinds), fc.nat(20), sandboxText(layout));
  const edits = fc.array(edit, { maxLength: 3 });
  return fc
    .tuple(itemsText(layout), fc.array(edits, { minLength: 1, maxLength: 3 }))
    .chain(([first, later]) => {
      let items = first;
      const lists = [first, ...later.map((each) => (items = edited(items, each)))];
      return fc.tuple(...lists.map((each) => bodyText(fc.constant(each), layout)));
    });
});

/** A body read in chunks after another one, read as a whole, and what is known after it. */
function readAfter(
  before: CollectingIntake,
  text: string,
  { sizes, memory }: { readonly sizes: readonly number[]; readonly memory: ListingMemory },
) {
  const body = Buffer.from(text);
  const intake = createCollectingIntake(before.taken(), before.body());
  const inChunks = chunkReading(cutBody(body, sizes), intake, memory);
  const known = inChunks === "refused" ? before : intake;
  return { inChunks, asWhole: wholeReading(body), known };
}

/** Each body, and then the very same one. */
const twice = (texts: readonly string[]): readonly string[] =>
  texts.flatMap((text) => [text, text]);

test("poll after poll, with most of the text known, a body says what it says as a whole", () => {
  fc.assert(
    fc.property(polls, chunkSizes, (texts, sizes) => {
      const memory = createMemory();
      let known = createCollectingIntake();
      for (const text of twice(texts)) {
        const read = readAfter(known, text, { sizes, memory });
        expect(read.inChunks).toEqual(read.asWhole);
        known = read.known;
      }
    }),
    { numRuns: 120 },
  );
});

/** In place of the first characters of each time of an update. */
const timeEdits = fc.array(
  fc.constantFrom("7", "~", " ", '"', "\\", "}", "\n", "\0", "\u007f", "é"),
  {
    minLength: 1,
    maxLength: 4,
  },
);
const touched = (text: string, edit: string): string =>
  text.replaceAll(
    /("updated_at"\s*:\s*")([^"]*)/g,
    (_, name: string, time: string) => name + edit.slice(0, time.length) + time.slice(edit.length),
  );

test("touched in whatever way, a body that was known says what it says as a whole", () => {
  const texts = fc.oneof(anyBody, fc.constant(valid.toString()));
  fc.assert(
    fc.property(texts, timeEdits, chunkSizes, (text, edit, sizes) => {
      const memory = createMemory();
      // Which texts are updated is learnt from the first update.
      let known = createCollectingIntake();
      for (const each of [text, touched(text, "~~"), touched(text, edit[0] ?? "")]) {
        const updated = createCollectingIntake(known.taken());
        if (chunkReading([Buffer.from(each)], updated, memory) !== "refused") known = updated;
      }
      for (const each of twice([touched(text, edit.join("")), text])) {
        const read = readAfter(known, each, { sizes, memory });
        expect(read.inChunks).toEqual(read.asWhole);
      }
    }),
    { numRuns: 200 },
  );
});

/** In place of each status in turn. */
const otherStatuses = fc.array(
  fc.constantFrom(
    "idle",
    "occupied",
    "error",
    "idle",
    "occupied",
    "0000",
    "0001",
    "resting",
    "\\u0069dle",
  ),
  { minLength: 1, maxLength: 7 },
);
const restated = (text: string, others: readonly string[]): string => {
  let next = 0;
  return text.replaceAll(
    /"(?:idle|occupied|error|resting)"/g,
    () => `"${others[next++ % others.length]}"`,
  );
};

test("with other statuses, a body that was known says what it says as a whole", () => {
  const texts = fc.oneof(anyBody, fc.constant(valid.toString()));
  const later = fc.array(otherStatuses, { minLength: 2, maxLength: 4 });
  fc.assert(
    fc.property(texts, later, chunkSizes, (text, changes, sizes) => {
      const memory = createMemory();
      let known = createCollectingIntake();
      const others = changes.map((each) => restated(text, each));
      for (const each of twice([text, ...others, text])) {
        const read = readAfter(known, each, { sizes, memory });
        expect(read.inChunks).toEqual(read.asWhole);
        known = read.known;
      }
    }),
    { numRuns: 150 },
  );
});

test("with the same statuses in other places, a body as long as the known one is read", () => {
  const statuses = ["idle", "occupied", "error", "error", null];
  const shuffles = fc.array(fc.shuffledSubarray(statuses, { minLength: statuses.length }), {
    minLength: 2,
    maxLength: 5,
  });
  fc.assert(
    fc.property(shuffles, chunkSizes, (orders, sizes) => {
      const memory = createMemory();
      let known = createCollectingIntake();
      for (const order of orders) {
        const servers = order.map((status, at) => ({ ...server, id: `v${at}`, status }));
        const read = readAfter(known, JSON.stringify(listing([{ ...sandbox, servers }])), {
          sizes,
          memory,
        });
        expect(read.inChunks).toEqual(read.asWhole);
        known = read.known;
      }
    }),
  );
});

const valid = Buffer.from(
  JSON.stringify({
    extra: [1, { a: "é\\" }],
    ...listing([sandbox, { ...sandbox, local_sandbox_id: "s2", servers: [server, { id: "é\n" }] }]),
  }),
);

test("a body that ends early at any byte is refused, whatever was known before", () => {
  const memory = createMemory();
  const before = createCollectingIntake();
  expect(chunkReading([valid], before, memory)).toEqual(wholeReading(valid));
  for (let length = 0; length < valid.length; length++) {
    const body = Buffer.from(valid.subarray(0, length));
    expect(chunkReading(cutBody(body, []))).toBe("refused");
    const after = createCollectingIntake(before.taken(), before.body());
    expect(chunkReading(cutBody(body, [7]), after, memory)).toBe("refused");
  }
});

const byte = fc.oneof(fc.nat(255), fc.constantFrom(...Buffer.from('{}[]",:\\ \n0e-tn\u00e9')));
const damage = fc.record({
  at: fc.nat(),
  removed: fc.nat(3),
  inserted: fc.array(byte, { maxLength: 3 }),
});

test("a damaged body is refused or says what it says as a whole", () => {
  const memory = createMemory();
  const known = createCollectingIntake();
  chunkReading([valid], known, memory);
  const original = fc.oneof(
    fc.constant(valid),
    anyBody.map((text) => Buffer.from(text)),
  );
  fc.assert(
    fc.property(
      original,
      fc.array(damage, { minLength: 1, maxLength: 2 }),
      chunkSizes,
      (whole, damages, sizes) => {
        const bytes = [...whole];
        for (const { at, removed, inserted } of damages) {
          bytes.splice(at % (bytes.length + 1), removed, ...inserted);
        }
        const body = Buffer.from(bytes);
        const reading = wholeReading(body);
        expect(chunkReading(cutBody(body, sizes))).toEqual(reading);
        const intake = createCollectingIntake(known.taken(), known.body());
        expect(chunkReading(cutBody(body, sizes), intake, memory)).toEqual(reading);
      },
    ),
    { numRuns: 200 },
  );
});
