import { expect, test } from "vitest";
import { seededRandom } from "../../src/lib/random.ts";
import { faultsSchema, oddKinds, strike, type Fault } from "../../src/simulator/faults.ts";
import { startSimulator, type Started } from "./start-simulator.ts";

const path = "/local-sandbox";

const subject = { region: "us", key: "research", operation: "list_sandboxes" } as const;

function strikes(fault: Fault, over: object = {}, seconds = 0, random = seededRandom(5)): boolean {
  return strike(faultsSchema.parse([fault]), { ...subject, ...over }, seconds, random).length > 0;
}

test("a fault of one region, key or operation leaves the others alone", () => {
  for (const other of [{ region: "eu" }, { key: "training" }, { operation: "get_user" }] as const) {
    const fault = { kind: "malformed", ...other } as const;
    expect([strikes(fault), strikes(fault, other)]).toEqual([false, true]);
  }
});

test("a fault strikes from its beginning until its end, in seconds since the start", () => {
  const fault = { kind: "malformed", from: 10, until: 20 } as const;
  const struck = [0, 9.999, 10, 19.999, 20].map((seconds) => strikes(fault, {}, seconds));
  expect(struck).toEqual([false, false, true, true, false]);
});

test("a fault of some probability strikes that share of the requests, the same ones for a seed", () => {
  const run = () => {
    const random = seededRandom(5);
    const fault = { kind: "malformed", probability: 0.3 } as const;
    return Array.from({ length: 1_000 }, () => strikes(fault, {}, 0, random));
  };
  expect(Math.abs(run().filter(Boolean).length - 300)).toBeLessThan(50);
  expect(run()).toEqual(run());
});

test.each([
  ["an unknown kind", { kind: "gremlins" }],
  ["a misspelt field", { kind: "latency", ms: 1, reigon: "us" }],
  ["a missing field", { kind: "latency" }],
  ["an unknown operation", { kind: "malformed", operation: "delete_user" }],
  ["a probability above one", { kind: "malformed", probability: 2 }],
  ["a share of nothing", { kind: "partial", share: 0 }],
])("%s is not taken for a fault", (_, fault) => {
  expect(faultsSchema.safeParse([fault]).success).toBe(false);
});

test("every default is filled in", () => {
  expect(faultsSchema.parse([{ kind: "odd" }])).toEqual([
    { kind: "odd", kinds: oddKinds, length: 200_000, probability: 1, from: 0 },
  ]);
});

/** So that whatever the simulator is about to send to another request has been sent. */
async function roundTrips({ get }: Started): Promise<void> {
  for (let trip = 0; trip < 20; trip++) {
    await (await get("/universes", { key: "training" })).text();
  }
}

test("latency delays the answer by its milliseconds, several of them by their sum", async () => {
  const latency = { kind: "latency", key: "research" } as const;
  const faults = [300, 200].map((ms) => ({ ...latency, ms }));
  const started = await startSimulator({ faults });
  const { clock, get } = started;
  let answered = false;
  const response = get(path).finally(() => (answered = true));
  await clock.timerArmed();
  clock.advance(300);
  await clock.timerArmed();
  clock.advance(199);
  await roundTrips(started);
  expect(answered).toBe(false);
  clock.advance(1);
  expect((await response).status).toBe(200);
});

test.each([200, 401, 503])("a status fault answers with %i", async (status) => {
  const { simulator, get } = await startSimulator({ faults: [{ kind: "status", status }] });
  const response = await get(path);
  expect([response.status, response.headers.get("retry-after")]).toEqual([status, null]);
  expect(await response.text()).not.toContain("local_sandboxes");
  simulator.setFaults([{ kind: "status", status, retry_after: 17 }]);
  expect((await get(path)).headers.get("retry-after")).toBe("17");
});

test("a reset breaks the connection without a byte, or after some of the body", async () => {
  const { simulator, get } = await startSimulator({ faults: [{ kind: "reset" }] });
  await expect(get(path)).rejects.toMatchObject({ cause: { code: "ECONNRESET" } });
  simulator.setFaults([{ kind: "reset", when: "body", after_bytes: 50 }]);
  const reader = (await get(path)).body?.getReader();
  expect((await reader?.read())?.value).toHaveLength(50);
  await expect(reader?.read()).rejects.toThrow("terminated");
});

test.each(["before", "body"] as const)(
  "an answer that hangs (%s) never ends, until the simulator is closed",
  async (when) => {
    const started = await startSimulator({
      faults: [{ kind: "hang", when, after_bytes: 50, key: "research" }],
    });
    let outcome = "waiting";
    const ended = started
      .get(path)
      .then((response) => response.text())
      .catch(() => null)
      .then((text) => (outcome = text === null ? "ended" : "answered"));
    await roundTrips(started);
    expect(outcome).toBe("waiting");
    await started.simulator.close();
    expect(await ended).toBe("ended");
  },
);

test.each([0, 10, 1_000, 1_000_000])(
  "a truncated answer of at most %i bytes ends cleanly, and before its last byte",
  async (afterBytes) => {
    const { simulator, get } = await startSimulator({ servers: 500 });
    const whole = await (await get(path)).text();
    simulator.setFaults([{ kind: "truncate", after_bytes: afterBytes }]);
    const body = await (await get(path)).text();
    expect(body).toBe(whole.slice(0, Math.min(afterBytes, whole.length - 1)));
  },
);

test("an answer can be malformed, a redirect, missing, or have other fields", async () => {
  const { simulator, get } = await startSimulator({ faults: [{ kind: "malformed" }] });
  const malformed = await get(path);
  expect(malformed.headers.get("content-type")).toBe("application/json");
  await expect(malformed.json()).rejects.toThrow(SyntaxError);
  const location = "https://elsewhere.example.com/";
  simulator.setFaults([{ kind: "redirect", location }]);
  const redirect = await get(path);
  expect([redirect.status, redirect.headers.get("location")]).toEqual([302, location]);
  simulator.setFaults([{ kind: "missing", operation: "list_universes" }]);
  expect([(await get("/universes")).status, (await get(path)).status]).toEqual([404, 200]);
  simulator.setFaults([
    { kind: "reshape", field: "universes[].name", value: 7 },
    { kind: "reshape", field: "universes[].domain" },
  ]);
  const body: unknown = await (await get("/universes")).json();
  expect(body).toHaveProperty("universes[1].name", 7);
  expect(body).not.toHaveProperty("universes[1].domain");
});

test.each([path, "/universes", "/user/user-1"])(
  "%s may hold an absurdly deep value",
  async (at) => {
    const { get } = await startSimulator({ faults: [{ kind: "nested", depth: 50_000 }] });
    const body = await (await get(at)).text();
    expect(body).toContain(`${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}`);
  },
);

test("a slow answer comes at its bytes a second", async () => {
  const { clock, get } = await startSimulator({ faults: [{ kind: "slow", bytes_per_second: 80 }] });
  const reader = (await get(path)).body?.getReader();
  for (let step = 0; step < 5; step++) {
    expect((await reader?.read())?.value).toHaveLength(8);
    await clock.timerArmed();
    clock.advance(100);
  }
  await reader?.cancel();
});

test("others are answered while a long listing is read, or is not read any more", async () => {
  const started = await startSimulator({
    faults: [{ kind: "huge", servers: 5_000_000, key: "research" }],
  });
  const response = await started.get(path);
  await roundTrips(started);
  await response.body?.cancel();
  await roundTrips(started);
  expect(response.status).toBe(200);
});
