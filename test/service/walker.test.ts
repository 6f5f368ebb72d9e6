import * as fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { createDeviations } from "../../src/service/deviations.ts";
import {
  keptListingSchema,
  keptSandboxSchema,
  universesSchema,
} from "../../src/service/schemas.ts";
import { createWalker } from "../../src/service/walker.ts";
import { listing, read, sandbox, server } from "./wire.ts";

const anyValue = fc.oneof(
  fc.jsonValue({ maxDepth: 1 }),
  fc.constantFrom("", "idle", "x".repeat(256), "x".repeat(257), "x".repeat(513), -1e300),
);
const object = (names: readonly string[], values: Record<string, fc.Arbitrary<unknown>> = {}) =>
  fc.record(
    Object.fromEntries(names.map((name) => [name, fc.oneof(anyValue, values[name] ?? anyValue)])),
    {
      requiredKeys: [],
    },
  );
const anyServer = object(["id", "status", "benchmark", "updated_at", "metadata", "tags"], {
  tags: fc.array(anyValue, { maxLength: 3 }),
});
const anySandbox = object(["local_sandbox_id", "created_at", "status", "servers"], {
  servers: fc.array(fc.oneof(anyValue, anyServer), { maxLength: 3 }),
});

test.for([
  ["sandbox", keptSandboxSchema, anySandbox],
  [
    "listing",
    keptListingSchema,
    object(["local_sandboxes", "total_count"], { local_sandboxes: fc.array(anySandbox) }),
  ],
  [
    "list of universes",
    universesSchema,
    object(["universes"], { universes: fc.array(object(["name", "task_nums", "created_at"])) }),
  ],
] as const)(
  "of a %s each value that zod refuses is counted, and no other",
  ([, schema, values]) => {
    const walker = createWalker(schema);
    fc.assert(
      fc.property(values, (value) => {
        const deviations = createDeviations();
        walker.compare(JSON.parse(JSON.stringify(value)), deviations);
        const counted = new Map<string, number>();
        for (const { field, problem, count } of deviations.list()) {
          if (problem !== "unknown_field") counted.set(field, (counted.get(field) ?? 0) + count);
        }
        const refused = new Map<string, number>();
        for (const path of refusedPaths(schema.safeParse(value).error)) {
          refused.set(path, (refused.get(path) ?? 0) + 1);
        }
        expect(counted).toEqual(refused);
      }),
      { numRuns: 500 },
    );
  },
);

/** Each once, such as `local_sandboxes[].servers[].id`. */
function refusedPaths(error: z.ZodError | undefined): readonly string[] {
  const paths = (error?.issues ?? []).map(({ path }) => JSON.stringify(path));
  return [...new Set(paths)].map((text) => {
    const path: readonly (string | number)[] = JSON.parse(text);
    return path
      .map((part) => (typeof part === "number" ? "[]" : `.${part}`))
      .join("")
      .slice(1);
  });
}

test("what zod finds wrong is asked of it once for many objects that deviate alike", () => {
  let asked = 0;
  const error = (): string => {
    asked++;
    return "refused";
  };
  const schema = z.object({ id: z.string({ error }).min(1, { error }).max(3, { error }) });
  const walker = createWalker(schema, "items[]");
  const deviations = createDeviations();
  for (const id of ["", "long", 7, null]) {
    for (let item = 0; item < 1000; item++) walker.compare({ id }, deviations);
  }
  for (let item = 0; item < 1000; item++) walker.compare({}, deviations);
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
