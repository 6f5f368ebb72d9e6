import * as fc from "fast-check";
import { expect, it } from "vitest";
import { createDeviations } from "../../src/service/deviations.ts";
import type { JsonObject, JsonValue } from "../../src/service/json.ts";
import { CommonTexts, readPlainSandbox, readSandbox } from "../../src/service/listed-sandbox.ts";
import type { Unkept } from "../../src/service/unkept.ts";
import { sandbox, server } from "./wire.ts";

const oddValues: (JsonValue | undefined)[] = [
  undefined,
  null,
  "",
  "idle",
  "resting",
  7,
  true,
  [],
  {},
  ["a"],
  [7],
  "x".repeat(256),
  "x".repeat(257),
  "x".repeat(513),
  Array.from({ length: 65 }, () => "a"),
];
const odd = fc.constantFrom(...oddValues);

/** An object of which a few fields are anything, and there may be others. */
function edited(promised: object): fc.Arbitrary<Record<string, JsonValue | undefined>> {
  const names = [...Object.keys(promised), "extra"];
  const edits = fc.array(fc.tuple(fc.constantFrom(...names), odd), { maxLength: 2 });
  return edits.map((each) => ({ ...promised, ...Object.fromEntries(each) }));
}

const { servers: _, ...itself } = sandbox;
const plainServer = { ...server, metadata: null, auth_data: null };
const items = fc
  .record({
    itself: edited(itself),
    servers: fc.array(fc.oneof({ weight: 6, arbitrary: edited(plainServer) }, odd), {
      maxLength: 3,
    }),
  })
  .map((each): JsonObject => JSON.parse(JSON.stringify({ servers: each.servers, ...each.itself })));

it("what the guard takes of an item is what the schemas find nothing odd in, and the same", () => {
  let taken = 0;
  fc.assert(
    fc.property(items, (item) => {
      const plain = readPlainSandbox(item, null, new CommonTexts());
      const deviations = createDeviations();
      const unkept: Unkept[] = [];
      const read = readSandbox(item, {
        place: "",
        deviations,
        common: new CommonTexts(),
        onUnkept: (each) => void unkept.push(each),
      });
      if (!plain) return;
      taken++;
      expect([deviations.list(), unkept]).toEqual([[], []]);
      expect(read).toEqual(plain);
    }),
    { seed: 20_261_125, numRuns: 5_000 },
  );
  expect(taken).toBeGreaterThan(500);
});

it("items as promised are taken by the guard, but for those with what may be nested", () => {
  const bare = { local_sandbox_id: "s1", created_at: "", servers: [{ id: "v1" }] };
  const full = { ...sandbox, servers: [plainServer, { ...plainServer, id: "v2", tags: null }] };
  for (const item of [bare, full]) {
    expect(readPlainSandbox(item, null, new CommonTexts())).not.toBeNull();
  }
  expect(readPlainSandbox({ ...sandbox, servers: [server] }, null, new CommonTexts())).toBeNull();
  expect(
    readPlainSandbox({ ...sandbox, servers: [plainServer, plainServer] }, null, new CommonTexts()),
  ).toBeNull();
});
