import * as fc from "fast-check";
import { expect, test } from "vitest";
import { reportFields } from "../../src/service/conformance.ts";
import {
  listingSchema,
  universesSchema,
  userSchema,
  validationSchema,
  whiteLabelSchema,
} from "../../src/service/schemas.ts";
import type { JsonValue } from "../../src/service/json-value.ts";

const schemas = [listingSchema, universesSchema, userSchema, validationSchema, whiteLabelSchema];

const outside = (schema: (typeof schemas)[number], answer: JsonValue) =>
  reportFields(schema, answer).filter(({ verdict }) => verdict === "outside");

const asJson = (value: unknown): JsonValue => JSON.parse(JSON.stringify(value));

test("a response deviates exactly when the strict schema refuses it", () => {
  const names = ["userId", "createdAt", "lastUsedAt", "extra", "__proto__", "toString"];
  const odd = fc.dictionary(fc.constantFrom(...names), fc.jsonValue({ maxDepth: 1 }), {
    noNullPrototype: true,
  });
  fc.assert(
    fc.property(fc.oneof(odd, fc.jsonValue({ maxDepth: 1 })), (given) => {
      const answer = asJson(given);
      const isRefused = !userSchema.strict().safeParse(answer).success;
      expect(outside(userSchema, answer).length > 0).toBe(isRefused);
    }),
    { numRuns: 200 },
  );
});

test("every field of the interface is reported once, whatever the response is, and no value is", () => {
  const secret = "T0PSECRET";
  const value = fc.oneof(fc.constant(secret), fc.jsonValue({ maxDepth: 1 }));
  const inner = fc.dictionary(
    fc.constantFrom("id", "status", "tags", "metadata", "universe_id", "personas", "loc"),
    fc.oneof(value, fc.array(value, { maxLength: 2 })),
    { noNullPrototype: true },
  );
  const outer = fc.dictionary(
    fc.constantFrom("local_sandboxes", "total_count", "universes", "detail", "data", "success"),
    fc.oneof(value, fc.array(inner, { maxLength: 3 })),
    { noNullPrototype: true },
  );
  fc.assert(
    fc.property(fc.oneof(outer, value), (given) => {
      for (const schema of schemas) {
        const fields = reportFields(schema, asJson(given));
        const names = fields.map(({ field }) => field);
        expect(new Set(names).size).toBe(names.length);
        const promised = reportFields(schema, null).map(({ field }) => field);
        expect(names).toEqual(
          expect.arrayContaining(promised.filter((name) => name !== "(answer)")),
        );
        expect(JSON.stringify(fields)).not.toContain(secret);
      }
    }),
    { numRuns: 100 },
  );
});

test("a field that was not observed says why, and an enumeration which of its words were", () => {
  const server = { id: "v", status: "idle", tags: [], metadata: null };
  const sandbox = {
    local_sandbox_id: "s",
    created_at: "t",
    servers: [server, { id: "w", tags: null }],
  };
  const fields = reportFields(listingSchema, { local_sandboxes: [sandbox], total_count: 1 });
  const of = (name: string) => {
    const found = fields.find(({ field }) => field === `local_sandboxes[].servers[].${name}`);
    return [found?.verdict, found?.detail];
  };
  expect(of("status")).toEqual([
    "agrees",
    "seen once; absent once; words: idle; not seen: occupied, error",
  ]);
  expect(of("tags")).toEqual(["agrees", "seen once; null once"]);
  expect(of("tags[]")).toEqual(["not_seen", "nothing that could have it"]);
  expect(of("metadata")).toEqual(["not_seen", "only null once, absent once"]);
  expect(of("server_name")).toEqual(["not_seen", "only absent 2 times"]);
});
