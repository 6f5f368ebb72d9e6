import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { z } from "zod";
import { createWalker, Deviations } from "../../src/service/deviations.ts";
import {
  keptListingSchema,
  keptSandboxSchema,
  universesSchema,
} from "../../src/service/schemas.ts";

describe("a walker", () => {
  const anyValue = fc.oneof(
    fc.jsonValue({ maxDepth: 1 }),
    fc.constantFrom("", "idle", "x".repeat(256), "x".repeat(257), "x".repeat(513), -1e300),
  );
  const object = (names: readonly string[], values: Record<string, fc.Arbitrary<unknown>> = {}) =>
    fc.record(
      Object.fromEntries(names.map((name) => [name, fc.oneof(anyValue, values[name] ?? anyValue)])),
      { requiredKeys: [] },
    );
  const anyServer = object(["id", "status", "benchmark", "updated_at", "metadata", "tags"], {
    tags: fc.array(anyValue, { maxLength: 3 }),
  });
  const anySandbox = object(["local_sandbox_id", "created_at", "status", "servers"], {
    servers: fc.array(fc.oneof(anyValue, anyServer), { maxLength: 3 }),
  });

  /** Each path that zod refuses once, such as `local_sandboxes[].servers[].id`. */
  const refusedPaths = (error: z.ZodError | undefined): readonly string[] =>
    [...new Set(error?.issues.map(({ path }) => JSON.stringify(path)))].map((text) => {
      const path: readonly (string | number)[] = JSON.parse(text);
      const parts = path.map((part) => (typeof part === "number" ? "[]" : `.${part}`));
      return parts.join("").slice(1);
    });

  it.each<[string, z.ZodType, fc.Arbitrary<unknown>]>([
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
  ])("counts of a %s each value that zod refuses, and no other", (_, schema, values) => {
    const walker = createWalker(schema);
    fc.assert(
      fc.property(values, (value) => {
        const deviations = new Deviations();
        walker.compare(JSON.parse(JSON.stringify(value)), deviations);
        const counted = new Map<string, number>();
        for (const { field, problem, count } of deviations.list()) {
          if (problem !== "unknown_field") counted.set(field, (counted.get(field) ?? 0) + count);
        }
        const refused = Map.groupBy(refusedPaths(schema.safeParse(value).error), (path) => path);
        expect(counted).toEqual(new Map(Array.from(refused, ([path, all]) => [path, all.length])));
      }),
      { numRuns: 200 },
    );
  });
});
