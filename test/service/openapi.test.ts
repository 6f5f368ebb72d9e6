import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020 } from "ajv/dist/2020.js";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { operations } from "../../src/fleet/model.ts";
import type { Operation } from "../../src/fleet/model.ts";
import { promisedOperations } from "../../src/service/operations.ts";
import { describeInterface } from "../../src/service/openapi.ts";
import { createSimulator } from "../../src/simulator/simulator.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { regionContent } from "../support/random-resources.ts";
import { startSimulator } from "../simulator/start-simulator.ts";

const document = JSON.parse(JSON.stringify(describeInterface([])));

/** The tables of the interface document, but for what the public material adds: `?` a field that may be missing. */
const tables = {
  ListLocalSandboxesResponse: "local_sandboxes array of LocalSandboxInfo; total_count integer",
  LocalSandboxInfo: `local_sandbox_id string; created_at string; status? SandboxStatus or null;
    benchmark? string or null; servers array of LocalSandboxServerItem`,
  LocalSandboxServerItem: `id string; server_name? string or null; mcp_server_url? string or null;
    status? SandboxStatus or null; benchmark? string or null; updated_at? string or null;
    metadata? object or null; auth_data? object or null; tags? array of string or null`,
  User: "userId string; createdAt string; lastUsedAt? string or null",
  ListUniversesResponse: "universes array of Universe",
  Universe: `universe_id string; name string; description string; domain string;
    personas array of object; task_nums array of string; created_at string, date-time`,
  WhiteLabelResponse: "success boolean; data? object or null; message? string or null",
  HTTPValidationError: "detail? array of ValidationError",
  ValidationError: `loc array of string or integer; msg string; type string; input? any;
    ctx? object`,
};

interface Schema {
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly format?: string;
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}
const schemas: Readonly<Record<string, Schema>> = document.components.schemas;

/** A schema in the words of the interface document. */
function inWords({ type, anyOf, items, format, $ref }: Schema): string {
  if ($ref !== undefined) return $ref.replace("#/components/schemas/", "");
  if (anyOf) return anyOf.map(inWords).join(" or ");
  if (items) return `array of ${inWords(items)}`;
  const words = type === undefined ? "any" : [type].flat().join(" or ");
  return format === undefined ? words : `${words}, ${format}`;
}

test.for(Object.entries(tables))("%s has the fields of the interface document", ([name, table]) => {
  const { properties = {}, required = [] } = schemas[name] ?? {};
  const found = Object.entries(properties).map(
    ([field, schema]) => `${field}${required.includes(field) ? "" : "?"} ${inWords(schema)}`,
  );
  expect(found).toEqual(table.split(/;\s+/));
});

test("a status is one of three", () => {
  expect(document.components.schemas.SandboxStatus).toMatchObject({
    type: "string",
    enum: ["idle", "occupied", "error"],
  });
});

interface PathItem {
  readonly get: {
    readonly operationId: string;
    readonly responses: {
      readonly 200: {
        readonly content: { readonly "application/json": { readonly schema: Schema } };
      };
    };
  };
}

test("there are the five operations, each under its path, with its parameter and its answers", () => {
  const found = Object.entries<PathItem>(document.paths).map(([path, { get }]) => {
    const codes = Object.keys(get.responses).join(" ");
    return `${get.operationId} ${path}: ${inWords(get.responses[200].content["application/json"].schema)}, ${codes}`;
  });
  expect(found).toEqual([
    "list_sandboxes /local-sandbox: ListLocalSandboxesResponse, 200 400 401 403 429 5XX",
    "get_user /user/{userId}: User, 200 400 401 403 404 422 429 5XX",
    "list_universes /universes: ListUniversesResponse, 200 400 401 403 429 5XX",
    "get_universe_data /universes/{universe_id}/initial_data: any, 200 400 401 403 404 422 429 5XX",
    "get_white_label /white-labeling/get/{client_id}: WhiteLabelResponse, 200 400 401 403 404 422 429 5XX",
  ]);
});

test("it is valid OpenAPI 3.1", async () => {
  expect(await new Validator().validate(document)).toMatchObject({ valid: true });
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

const oddIds = ["x".repeat(200), "a\nb", "nobody"];

test("whatever a region holds, every answer of the simulator conforms to the published document", async () => {
  const ajv = new Ajv2020({ strict: false });
  ajv.addFormat("date-time", /^\d{4}-\d\d-\d\dT\d\d:\d\d/);
  ajv.addSchema(document, "document");
  const answered = new Set<string>();
  const conforms = async (base: string, operation: Operation, id: string): Promise<void> => {
    const { path } = promisedOperations[operation];
    const url = base + path.replace(/\{\w+\}/, () => encodeURIComponent(id));
    const answer = await fetch(url, { headers: { authorization: "Bearer key" } });
    const { responses } = document.paths[path].get;
    const { status } = answer;
    expect(responses, `${operation} ${status}`).toHaveProperty(String(status));
    answered.add(`${operation} ${status}`);
    const body: unknown = await answer.json();
    if (!responses[status].content) return;
    const pointer = [path, "get", "responses", status, "content", "application/json", "schema"]
      .map((part) => encodeURIComponent(String(part).replaceAll("~", "~0").replaceAll("/", "~1")))
      .join("/");
    const validate = ajv.getSchema(`document#/paths/${pointer}`);
    expect([validate?.(body), validate?.errors]).toEqual([true, null]);
  };
  await fc.assert(
    fc.asyncProperty(regionContent, fc.nat(), async (content, seed) => {
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
        const ids: Readonly<Record<Operation, readonly string[]>> = {
          list_sandboxes: [""],
          list_universes: [""],
          get_user: [...userIds, ...oddIds],
          get_universe_data: [...universeIds, ...oddIds],
          get_white_label: [...clientIds, failingClientId, ...oddIds],
        };
        for (const operation of operations) {
          for (const id of ids[operation]) await conforms(base, operation, id);
        }
      }
      await simulator.close();
    }),
    { numRuns: 6 },
  );
  for (const operation of operations) expect(answered).toContain(`${operation} 200`);
  expect(answered).toContain("get_user 422");
  expect(answered).toContain("get_user 404");
});
