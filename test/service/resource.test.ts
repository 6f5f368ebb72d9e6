import * as fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { createDeviations } from "../../src/service/deviations.ts";
import { resource } from "../../src/service/resource.ts";
import { sandboxSchema, serverSchema } from "../../src/service/schema.ts";
import { listing, read, sandbox, server } from "./wire.ts";

test.for([
  ["server", serverSchema],
  ["sandbox", sandboxSchema],
] as const)("of a %s each field that zod refuses is counted once, and no other", ([, schema]) => {
  const names = Object.keys(schema.shape);
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 1 }),
    fc.constantFrom("", "idle", "x".repeat(256), "x".repeat(257), "x".repeat(513), -1e300),
  );
  const odd = fc.dictionary(fc.constantFrom(...names), value, { noNullPrototype: true });
  const promised = resource(schema, "");
  fc.assert(
    fc.property(odd, (object) => {
      const deviations = createDeviations();
      promised.compare(JSON.parse(JSON.stringify(object)), deviations);
      const issues = schema.safeParse(object).error?.issues ?? [];
      const refused = new Set(issues.map(({ path }) => path.join(".")));
      const counted = deviations.list().map(({ field, count }) => [field, count]);
      expect(counted).toEqual([...refused].map((field) => [field, 1]));
    }),
    { numRuns: 500 },
  );
});

test("what zod finds wrong is asked of it once for many objects that deviate alike", () => {
  let asked = 0;
  const error = (): string => {
    asked++;
    return "refused";
  };
  const schema = z.object({ id: z.string({ error }).min(1, { error }).max(3, { error }) });
  const promised = resource(schema, "items[].");
  const deviations = createDeviations();
  for (const id of ["", "long", 7, null]) {
    for (let item = 0; item < 1000; item++) promised.compare({ id }, deviations);
  }
  for (let item = 0; item < 1000; item++) promised.compare({}, deviations);
  expect(deviations.list()).toEqual(
    [
      ["empty", "text of 0 characters"],
      ["too_long", "text of 4 characters"],
      ["wrong_type", "whole number"],
      ["null", "null"],
      ["missing", null],
    ].map(([problem, example]) => ({ field: "items[].id", problem, count: 1000, example })),
  );
  expect(asked).toBeLessThanOrEqual(10);
});

test("every deviation of a large listing is counted", () => {
  const { id, ...nameless } = server;
  const odd = [
    nameless,
    { ...server, id: null },
    { ...server, id: `${id}2`, status: "resting", updated_at: 7 },
    { ...server, id: `${id}3`, shape: "new", server_name: "n".repeat(257) },
  ];
  const sandboxes = Array.from({ length: 3000 }, (_, at) => ({
    ...sandbox,
    local_sandbox_id: `s${at}`,
    created_at: null,
    servers: odd,
  }));
  const servers = "local_sandboxes[].servers[]";
  expect(new Set(read(listing(sandboxes)).deviations)).toEqual(
    new Set([
      ["local_sandboxes[].created_at", "null", 3000],
      [`${servers}.id`, "missing", 3000],
      [`${servers}.id`, "null", 3000],
      [`${servers}.status`, "unknown_value", 3000],
      [`${servers}.updated_at`, "wrong_type", 3000],
      [`${servers}.shape`, "unknown_field", 3000],
      [`${servers}.server_name`, "too_long", 3000],
    ]),
  );
});
