import { expect, it } from "vitest";
import type { Needs } from "../../src/api/context.ts";
import { createApi } from "../../src/api/operation.ts";
import { checkConformance } from "../../src/api/operations/conformance.ts";
import type { Ids } from "../../src/service/conformance.ts";
import { Secret } from "../../src/lib/secret.ts";
import { KeyLimits } from "../../src/polling/key-limits.ts";
import { createServiceClient } from "../../src/service/client.ts";
import type { Fault } from "../../src/simulator/faults.ts";
import type { SimulatorOptions } from "../../src/simulator/simulator.ts";
import { startSimulator, us } from "../simulator/start-simulator.ts";

const known: Ids = { user: "user-1", client: "client-1" };

/** The report on a simulated service that may deviate, called within the limit that it enforces. */
async function check(
  options: Partial<SimulatorOptions> = {},
  ids = known,
  apiKey = "research-key",
) {
  const world = { regions: ["us"], rateLimit: undefined, servers: 200 };
  const { clock, bases } = await startSimulator({ ...world, ...options });
  const codes: string[] = [];
  const service = createServiceClient({
    regions: new Map(Array.from(bases, ([region, baseUrl]) => [region, { baseUrl }])),
    timeoutMs: 10_000,
    maxBodyBytes: 1024 * 1024,
    userAgent: "sandwatch/test",
    clock,
    onRequest(request) {
      codes.push(`${request.operation} ${request.code}`);
      // The next call waits for a token.
      clock.advance(1_000);
    },
  });
  const limits = new KeyLimits(clock, { requests: 2, perMs: 1_000 });
  const api = createApi<Needs<"calls">>({
    calls: {
      service,
      recordDrift() {},
      limits,
      clock,
      signal: new AbortController().signal,
      maxBodyBytes: 1024 * 1024,
      targets: [us],
      keys: [{ name: us.key, apiKey: new Secret(apiKey) }],
      inProgress: { lookups: 0, checks: 0 },
    },
  });
  const report = await api(checkConformance, ids);
  await service.close();
  const outside = report.operations.flatMap(({ operation, outcome, detail, fields }) => [
    ...(outcome === "outside" ? [`${operation}: ${detail}`] : []),
    ...fields.flatMap(({ field, verdict, detail: found }) =>
      verdict === "outside" ? [`${operation} ${field}: ${found}`] : [],
    ),
  ]);
  return { report, outside, codes };
}

const all = [
  "list_sandboxes",
  "list_universes",
  "get_user",
  "get_universe_data",
  "get_white_label",
];

it("finds no deviation of the simulator, and calls each operation once", async () => {
  const { report, outside, codes } = await check();
  expect(outside).toEqual([]);
  expect(report).toMatchObject({ region: "us", outside: 0, failed: 0 });
  expect(report.agrees).toBeGreaterThan(30);
  expect(codes).toEqual(all.map((operation) => `${operation} 200`));
});

const servers = "local_sandboxes[].servers[]";
const reshape = (field: string, value?: string | number | null): Fault =>
  value === undefined ? { kind: "reshape", field } : { kind: "reshape", field, value };

it.each<[Fault, string]>([
  [
    reshape(`${servers}.status`, "resting"),
    `list_sandboxes ${servers}.status: unknown value 200 times ("resting")`,
  ],
  [
    reshape(`${servers}.gpu`, 2),
    `list_sandboxes ${servers}.gpu: unknown field 200 times (whole number)`,
  ],
  [
    { kind: "odd", kinds: ["duplicate_id"] },
    "list_sandboxes local_sandboxes[].local_sandbox_id: duplicate once",
  ],
  [reshape("createdAt", null), "get_user createdAt: null once"],
  [reshape("success", "yes"), "get_white_label success: wrong type once (text of 3 characters)"],
  [
    { kind: "missing", operation: "list_universes" },
    "list_universes: HTTP 404: there is no such operation at this base address",
  ],
  [
    { kind: "redirect", operation: "get_user", location: "/elsewhere" },
    "get_user: HTTP 302: a redirect to another path on the same host, which is not followed",
  ],
  [{ kind: "malformed", operation: "get_white_label" }, "get_white_label: the body is not JSON"],
])("finds the deviation %j", async (fault, found) => {
  const { outside } = await check({ faults: [fault] });
  expect(outside.join("\n")).toContain(found);
});

it("compares a validation error with the interface", async () => {
  const invalid = { user: "x".repeat(129), client: "client-1" };
  for (const faults of [[], [reshape("detail[].loc[]", 3)], [reshape("detail")]]) {
    const { report, outside } = await check({ faults }, invalid);
    expect([outside, report.failed]).toEqual([[], 0]);
    const ofUser = report.operations.find(({ operation }) => operation === "get_user");
    expect(ofUser).toMatchObject({ outcome: "answered", detail: "HTTP 422: the id is not valid" });
  }
  const odd = await check({ faults: [reshape("detail[].loc[]", 0.5)] }, invalid);
  expect(odd.outside).toEqual(["get_user detail[].loc[]: wrong type 2 times (number)"]);
});

it.each([
  [400, "get_user", "not_seen", "HTTP 400: the id is not valid"],
  [400, "list_universes", "failed", "HTTP 400"],
  [422, "list_universes", "failed", "HTTP 422, though the operation takes no input"],
  [500, "get_user", "failed", "HTTP 500"],
] as const)("reports a %i of %s as %s", async (status, operation, outcome, detail) => {
  const { report } = await check({ faults: [{ kind: "status", status, operation }] });
  const found = report.operations.find((each) => each.operation === operation);
  expect(found).toMatchObject({ outcome, detail });
  expect(report.failed).toBe(outcome === "failed" ? 1 : 0);
});

it.each<[Ids, readonly string[]]>([
  [{}, ["get_user", "get_white_label"]],
  [{ user: "user-1" }, ["get_white_label"]],
  [{ client: "client-1" }, ["get_user"]],
  [{ user: "user-1", universe: "universe-us-1", client: "client-1" }, []],
])("calls the operations that it has ids for: %j", async (ids, expected) => {
  const { report, codes } = await check({}, ids);
  const missing = report.operations.flatMap(({ operation, outcome, detail }) =>
    outcome === "not_seen" && detail.includes(" with --") ? [operation] : [],
  );
  expect(missing).toEqual(expected);
  expect(codes.map((code) => code.replace(/ .*/, ""))).toEqual(
    all.filter((operation) => !expected.includes(operation)),
  );
});

it("reports unknown ids as not seen, and a refused key and a service that is down as failed", async () => {
  const unknown = await check({ content: { us: { universes: 0 } } }, { user: "nobody" });
  expect(unknown.outside).toEqual([]);
  const outcomes = unknown.report.operations.map(({ outcome }) => outcome);
  expect(outcomes).toEqual(["answered", "not_seen", "answered", "not_seen", "not_seen"]);
  const refused = await check({}, known, "wrong-T0PSECRET");
  expect(refused.report).toMatchObject({ agrees: 0, outside: 0, failed: 4 });
  expect(JSON.stringify(refused)).not.toContain("T0PSECRET");
  const down = await check({ faults: [{ kind: "status", status: 503 }] });
  expect(down.report.failed).toBe(4);
});
