import { expect, it, test } from "vitest";
import type { ServiceContext } from "../../src/api/context.ts";
import { createApi } from "../../src/api/operation.ts";
import { checkConformance } from "../../src/api/operations/conformance.ts";
import type { Ids } from "../../src/service/conformance.ts";
import { Secret } from "../../src/lib/secret.ts";
import { createKeyLimits } from "../../src/polling/key-limits.ts";
import { createServiceClient, type ServiceClient } from "../../src/service/client.ts";
import { failure } from "../../src/service/failure.ts";
import type { Fault } from "../../src/simulator/faults.ts";
import { createSimulator, type SimulatorOptions } from "../../src/simulator/simulator.ts";
import { createFakeClock } from "../support/fake-clock.ts";

const known: Ids = { user: "user-1", client: "client-1" };

function contextOf(
  parts: Pick<ServiceContext, "service" | "limits" | "clock">,
  apiKey = "key",
): ServiceContext {
  return {
    ...parts,
    signal: new AbortController().signal,
    maxBodyBytes: 1024 * 1024,
    targets: [{ target: { region: "us", key: "key" } }],
    keys: [{ name: "key", apiKey: new Secret(apiKey) }],
    inProgress: { lookups: 0, checks: 0 },
  };
}

/** The report on a simulated service that may deviate, asked within the limit that it keeps itself. */
async function check(options: Partial<SimulatorOptions> = {}, ids = known, apiKey = "key") {
  const clock = createFakeClock();
  const simulator = createSimulator({
    seed: 3,
    clock,
    regions: ["us"],
    keys: [{ name: "key", apiKey: "key" }],
    servers: 200,
    ...options,
  });
  const bases = await simulator.listen({ host: "127.0.0.1", port: 0 });
  const codes: string[] = [];
  const service = createServiceClient({
    regions: new Map(Array.from(bases, ([region, baseUrl]) => [region, { baseUrl }])),
    timeoutMs: 10_000,
    maxBodyBytes: 1024 * 1024,
    userAgent: "sandwatch/test",
    clock,
    onRequest(request) {
      codes.push(`${request.operation} ${request.code}`);
      // The next one has to wait, and time stands still here.
      clock.advance(1_000);
    },
  });
  const limits = createKeyLimits(clock, { requests: 2, perMs: 1_000 });
  const api = createApi(contextOf({ service, limits, clock }, apiKey));
  const report = await api(checkConformance, ids);
  await service.close();
  await simulator.close();
  const outside = report.operations.flatMap(({ operation, outcome, detail, fields }) => [
    ...(outcome === "outside" ? [`${operation}: ${detail}`] : []),
    ...fields.flatMap(({ field, verdict, detail: found }) =>
      verdict === "outside" ? [`${operation} ${field}: ${found}`] : [],
    ),
  ]);
  return { report, outside, codes };
}

it("finds nothing outside in the simulator, having asked each operation once", async () => {
  const { report, outside, codes } = await check();
  expect(outside).toEqual([]);
  expect(report).toMatchObject({ region: "us", outside: 0, failed: 0 });
  expect(report.agrees).toBeGreaterThan(30);
  expect(codes).toEqual([
    "list_sandboxes 200",
    "list_universes 200",
    "get_user 200",
    "get_universe_data 200",
    "get_white_label 200",
  ]);
});

const servers = "local_sandboxes[].servers[]";
const reshape = (field: string, value?: string | number | null): Fault => {
  return value === undefined ? { kind: "reshape", field } : { kind: "reshape", field, value };
};

test.for<[Fault, string]>([
  [
    reshape(`${servers}.status`, "resting"),
    `list_sandboxes ${servers}.status: unknown value 200 times ("resting")`,
  ],
  [
    reshape(`${servers}.gpu`, 2),
    `list_sandboxes ${servers}.gpu: unknown field 200 times (whole number)`,
  ],
  [reshape("total_count"), "list_sandboxes total_count: missing once"],
  [reshape("total_count", 3), "list_sandboxes total_count: mismatch once"],
  [
    { kind: "odd", kinds: ["duplicate_id"] },
    "list_sandboxes local_sandboxes[].local_sandbox_id: duplicate once",
  ],
  [reshape("createdAt", null), "get_user createdAt: null once"],
  [
    reshape("universes[].created_at", "Monday"),
    "list_universes universes[].created_at: wrong format 6 times (text of 6 characters)",
  ],
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
])("finds %j in a service that deviates so", async ([fault, found]) => {
  const { outside } = await check({ faults: [fault] });
  expect(outside.join("\n")).toContain(found);
});

it("says of the validation error, too, how it goes with the interface", async () => {
  const invalid = { user: "x".repeat(129), client: "client-1" };
  const plain = await check({}, invalid);
  expect(plain.outside).toEqual([]);
  const ofUser = ({ report }: typeof plain) =>
    report.operations.find(({ operation }) => operation === "get_user");
  expect(ofUser(plain)).toMatchObject({
    outcome: "answered",
    detail: "HTTP 422: the id is not valid",
  });
  for (const belongs of [reshape("detail[].loc[]", 3), reshape("detail")]) {
    const { report, outside } = await check({ faults: [belongs] }, invalid);
    expect(outside).toEqual([]);
    expect(report).toMatchObject({ outside: 0, failed: 0 });
  }
  const odd = await check({ faults: [reshape("detail[].loc[]", 0.5)] }, invalid);
  expect(odd.outside).toEqual(["get_user detail[].loc[]: wrong type 2 times (number)"]);
});

test.for([
  [400, "get_user", "not_seen", "HTTP 400: the id is not valid"],
  [400, "list_universes", "failed", "HTTP 400"],
  [422, "list_universes", "failed", "HTTP 422, though the operation takes no input"],
  [401, "get_user", "failed", "HTTP 401"],
  [403, "get_user", "failed", "HTTP 403"],
  [429, "get_user", "failed", "HTTP 429"],
  [500, "get_user", "failed", "HTTP 500"],
] as const)(
  "a %i of %s is not outside the interface",
  async ([status, operation, outcome, detail]) => {
    const { report } = await check({ faults: [{ kind: "status", status, operation }] });
    expect(report.operations.find((each) => each.operation === operation)).toMatchObject({
      outcome,
      detail,
    });
    expect(report.failed).toBe(outcome === "failed" ? 1 : 0);
  },
);

const everyOperation = [
  "list_sandboxes",
  "get_user",
  "list_universes",
  "get_universe_data",
  "get_white_label",
];
const user = { user: "user-1" };
const universe = { universe: "universe-us-1" };
const client = { client: "client-1" };
const choices: readonly Ids[] = [
  {},
  user,
  universe,
  client,
  { ...user, ...universe },
  { ...user, ...universe, ...client },
];
for (const ids of choices) {
  it(`asks each operation that it can ask with ${JSON.stringify(ids)}, and lists the others as not seen`, async () => {
    const { report, codes } = await check({}, ids);
    expect(report.operations.map(({ operation }) => operation)).toEqual(everyOperation);
    const unseen = report.operations.flatMap(({ operation, outcome, detail }) =>
      outcome === "not_seen" && detail.includes(" with --") ? [operation] : [],
    );
    const asked = codes.map((code) => code.replace(/ .*/, ""));
    expect(new Set([...asked, ...unseen])).toEqual(new Set(everyOperation));
    expect(asked).toHaveLength(everyOperation.length - unseen.length);
  });
}

it("asks for the data of a given universe also where universes cannot be listed", async () => {
  const { report, codes } = await check(
    { faults: [{ kind: "status", status: 503, operation: "list_universes" }] },
    { universe: "universe-us-1" },
  );
  expect(codes).toContain("list_universes 503");
  expect(report.operations.map(({ outcome }) => outcome)).toEqual([
    "answered",
    "not_seen",
    "failed",
    "answered",
    "not_seen",
  ]);
});

it("says what it could not ask or see, and fails where there was no answer", async () => {
  const unasked = await check({ content: { us: { universes: 0 } } }, { user: "nobody" });
  expect(unasked.outside).toEqual([]);
  expect(unasked.report.operations.map(({ operation, outcome }) => [operation, outcome])).toEqual([
    ["list_sandboxes", "answered"],
    ["get_user", "not_seen"],
    ["list_universes", "answered"],
    ["get_universe_data", "not_seen"],
    ["get_white_label", "not_seen"],
  ]);
  const refused = await check({}, known, "wrong-T0PSECRET");
  expect(refused.report).toMatchObject({ agrees: 0, outside: 0, failed: 4 });
  expect(JSON.stringify(refused)).not.toContain("T0PSECRET");
  const down = await check({ faults: [{ kind: "status", status: 503 }] });
  expect(down.report.failed).toBe(4);
});

it("keeps within the limit from when each call is sent", async () => {
  const clock = createFakeClock();
  const target = { region: "us", key: "key" };
  const startedMs = clock.now().monotonicMs;
  const limits = createKeyLimits(clock, { requests: 1, perMs: 1_000 });
  const freeMs: number[] = [];
  const examine: ServiceClient["examine"] = (call) => {
    clock.advance(300);
    if (freeMs.length === 0) call.onSent?.();
    clock.advance(200);
    freeMs.push(limits.nextFreeMs(target) - startedMs);
    clock.advance(2_000);
    return Promise.resolve(failure("network", "refused"));
  };
  const look: ServiceClient["look"] = () => Promise.reject(new Error("not called"));
  await createApi(contextOf({ service: { examine, look }, limits, clock }))(
    checkConformance,
    known,
  );
  // The second one is never sent, but until it ends it may be at any moment.
  expect(freeMs.slice(0, 2)).toEqual([300 + 1_050, 3_000 + 1_050]);
  expect(limits.nextFreeMs(target)).toBe(clock.now().monotonicMs);
});

it("sends nothing while the service asks for patience, and says so", async () => {
  const patience: Fault = { kind: "status", status: 429, retry_after: 3600 };
  const { report, codes } = await check({ faults: [patience] });
  expect(codes).toEqual(["list_sandboxes 429"]);
  expect(report.failed).toBe(4);
  expect(report.operations[1]?.detail).toBe(
    "nothing was sent: the key's rate limit is used up, try again later",
  );
});
