import * as fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { operations } from "../../src/fleet/model.ts";
import type { Operation } from "../../src/fleet/model.ts";
import { describeInterface } from "../../src/service/openapi.ts";
import { createSimulator } from "../../src/simulator/simulator.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { regionContent } from "../support/random-resources.ts";
import { startSimulator } from "../simulator/start-simulator.ts";
import { asSchema, faultsOf, resolve } from "./support/json-schema.ts";

const document = JSON.parse(JSON.stringify(describeInterface([])));

/** The tables of the interface document, but for what the public material adds: `?` a field that may be missing, `null` one that may be. */
const tables = {
  ListLocalSandboxesResponse: {
    local_sandboxes: "array of LocalSandboxInfo",
    total_count: "integer",
  },
  LocalSandboxInfo: {
    local_sandbox_id: "string",
    created_at: "string",
    "status?": "SandboxStatus or null",
    "benchmark?": "string or null",
    servers: "array of LocalSandboxServerItem",
  },
  LocalSandboxServerItem: {
    id: "string",
    "server_name?": "string or null",
    "mcp_server_url?": "string or null",
    "status?": "SandboxStatus or null",
    "benchmark?": "string or null",
    "updated_at?": "string or null",
    "metadata?": "object or null",
    "auth_data?": "object or null",
    "tags?": "array of string or null",
  },
  User: { userId: "string", createdAt: "string", "lastUsedAt?": "string or null" },
  ListUniversesResponse: { universes: "array of Universe" },
  Universe: {
    universe_id: "string",
    name: "string",
    description: "string",
    domain: "string",
    personas: "array of object",
    task_nums: "array of string",
    created_at: "string, date-time",
  },
  WhiteLabelResponse: {
    success: "boolean",
    "data?": "object or null",
    "message?": "string or null",
  },
  HTTPValidationError: { "detail?": "array of ValidationError" },
  ValidationError: {
    loc: "array of string or integer",
    msg: "string",
    type: "string",
    "input?": "any",
    "ctx?": "object",
  },
};

/** A schema in the words of the interface document. */
function inWords(value: unknown): string {
  const { type, anyOf, items, format, $ref } = asSchema(value);
  if (typeof $ref === "string") return $ref.replace("#/components/schemas/", "");
  if (Array.isArray(anyOf)) return anyOf.map(inWords).join(" or ");
  if (type === "array") return `array of ${inWords(items)}`;
  const words = type === undefined ? "any" : [type].flat().map(String).join(" or ");
  return typeof format === "string" ? `${words}, ${format}` : words;
}

function tableOf(name: string): Record<string, string> {
  const { properties, required } = asSchema(resolve(document, `#/components/schemas/${name}`));
  const isRequired = (field: string): boolean =>
    Array.isArray(required) && required.includes(field);
  return Object.fromEntries(
    Object.entries(asSchema(properties)).map(([field, schema]) => [
      isRequired(field) ? field : `${field}?`,
      inWords(schema),
    ]),
  );
}

test.for(Object.entries(tables))("%s has the fields of the interface document", ([name, table]) => {
  expect(tableOf(name)).toEqual(table);
});

test("a status is one of three", () => {
  expect(document.components.schemas.SandboxStatus).toMatchObject({
    type: "string",
    enum: ["idle", "occupied", "error"],
  });
});

test("there are the five operations, each under its path, with its parameter and its answers", () => {
  const found = Object.entries<Record<string, unknown>>(document.paths).map(([path, item]) => {
    const {
      operationId,
      parameters = [],
      responses,
    } = z
      .object({
        operationId: z.string(),
        parameters: z
          .array(z.object({ name: z.string(), in: z.literal("path"), required: z.literal(true) }))
          .optional(),
        responses: z.record(z.string(), z.object({ content: z.unknown().optional() })),
      })
      .parse(item["get"]);
    expect(Object.keys(item)).toEqual(["get"]);
    const ok = asSchema(asSchema(responses["200"]?.content)["application/json"])["schema"];
    return [
      operationId,
      path,
      parameters.map(({ name }) => name).join(),
      inWords(ok),
      Object.keys(responses).join(" "),
    ];
  });
  const withId = "200 400 401 403 404 422 429 5XX";
  expect(found).toEqual([
    [
      "list_sandboxes",
      "/local-sandbox",
      "",
      "ListLocalSandboxesResponse",
      "200 400 401 403 429 5XX",
    ],
    ["get_user", "/user/{userId}", "userId", "User", withId],
    ["list_universes", "/universes", "", "ListUniversesResponse", "200 400 401 403 429 5XX"],
    ["get_universe_data", "/universes/{universe_id}/initial_data", "universe_id", "any", withId],
    [
      "get_white_label",
      "/white-labeling/get/{client_id}",
      "client_id",
      "WhiteLabelResponse",
      withId,
    ],
  ]);
});

test("it keeps the rules of OpenAPI 3.1", () => {
  const schema = z.custom<object>((value) => {
    // Whatever is unheard of in it throws.
    faultsOf(document, value, null);
    return true;
  });
  const content = z.record(z.string(), z.strictObject({ schema }));
  const response = z.strictObject({ description: z.string().min(1), content: content.optional() });
  const operation = z.strictObject({
    operationId: z.string().min(1),
    summary: z.string(),
    parameters: z
      .array(
        z.strictObject({
          name: z.string(),
          in: z.literal("path"),
          required: z.literal(true),
          schema,
        }),
      )
      .optional(),
    responses: z.record(z.string().regex(/^([1-5]\d\d|[1-5]XX|default)$/), response),
  });
  const securityScheme = z.strictObject({
    type: z.literal("http"),
    scheme: z.literal("bearer"),
    description: z.string(),
  });
  const read = z
    .strictObject({
      openapi: z.string().regex(/^3\.1\.\d+$/),
      info: z.strictObject({ title: z.string(), version: z.string(), description: z.string() }),
      servers: z.array(z.strictObject({ url: z.string(), description: z.string() })),
      security: z.array(z.record(z.string(), z.array(z.string()))),
      paths: z.record(z.string().startsWith("/"), z.strictObject({ get: operation })),
      components: z.strictObject({
        schemas: z.record(z.string().regex(/^[\w.-]+$/), schema),
        securitySchemes: z.record(z.string().regex(/^[\w.-]+$/), securityScheme),
      }),
    })
    .parse(document);
  const ids = Object.values(read.paths).map(({ get }) => get.operationId);
  expect(ids.toSorted()).toEqual([...new Set(ids)].toSorted());
  expect(ids.toSorted()).toEqual([...operations].toSorted());
  for (const [path, { get }] of Object.entries(read.paths)) {
    const inPath = Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => name);
    expect((get.parameters ?? []).map(({ name }) => name)).toEqual(inPath);
  }
  const needed = read.security.flatMap((each) => Object.keys(each));
  expect(needed).toEqual(Object.keys(read.components.securitySchemes));
});

test("the simulator publishes it for both regions and for each, to anybody, and only with GET", async () => {
  const { get } = await startSimulator();
  const serversAt = async (path: string) => {
    const response = await get(path, { init: { headers: {} } });
    expect([path, response.status]).toEqual([path, 200]);
    const { servers, ...rest } = z
      .looseObject({ servers: z.array(z.unknown()) })
      .parse(await response.json());
    expect({ ...rest, servers: [] }).toEqual(document);
    return servers;
  };
  const us = { url: "/us", description: "us" };
  expect(await serversAt("/openapi.json")).toEqual([us]);
  expect(await serversAt("/../openapi.json")).toEqual([us, { url: "/eu", description: "eu" }]);
  expect((await get("/openapi.json", { init: { method: "POST" } })).status).toBe(405);
});

const oddId = fc.constantFrom("x".repeat(200), "a\nb", "nobody");

test("whatever a region holds, every answer of the simulator conforms to the published document", async () => {
  const seen = new Set<string>();
  const conforms = async (base: string, operation: Operation, id: string): Promise<void> => {
    const [template, item] =
      Object.entries<{ get: { operationId: string } }>(document.paths).find(
        ([, { get }]) => get.operationId === operation,
      ) ?? [];
    const path = template?.replace(/\{\w+\}/, () => encodeURIComponent(id));
    const answer = await fetch(base + path, { headers: { authorization: "Bearer key" } });
    const { responses } = z
      .object({ responses: z.record(z.string(), z.object({ content: z.unknown().optional() })) })
      .parse(item?.get);
    const response = responses[String(answer.status)];
    expect(response, `${operation} ${answer.status}`).toBeDefined();
    seen.add(`${operation} ${answer.status}`);
    const body: unknown = await answer.json();
    if (response?.content === undefined) return;
    const { schema } = asSchema(asSchema(response.content)["application/json"]);
    expect(faultsOf(document, schema, body)).toEqual([]);
  };
  await fc.assert(
    fc.asyncProperty(regionContent, fc.nat(), oddId, async (content, seed, odd) => {
      const simulator = createSimulator({
        seed,
        clock: createFakeClock(),
        regions: ["us", "eu"],
        keys: [{ name: "key", apiKey: "key" }],
        servers: 5,
        rateLimit: null,
        content: { us: content },
      });
      const bases = await simulator.listen({ host: "127.0.0.1", port: 0 });
      for (const [region, base] of bases) {
        const { userIds, universeIds, clientIds, failingClientId } = simulator.knownIds(region);
        await conforms(base, "list_sandboxes", "");
        await conforms(base, "list_universes", "");
        for (const id of [...userIds, odd]) await conforms(base, "get_user", id);
        for (const id of [...universeIds, odd]) await conforms(base, "get_universe_data", id);
        for (const id of [...clientIds, failingClientId, odd]) {
          await conforms(base, "get_white_label", id);
        }
      }
      await simulator.close();
    }),
    { numRuns: 15 },
  );
  for (const operation of operations) expect(seen).toContain(`${operation} 200`);
  expect(seen).toContain("get_user 422");
  expect(seen).toContain("get_user 404");
});
