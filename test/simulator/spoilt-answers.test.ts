import { expect, test } from "vitest";
import { readListing, serversOf } from "./listed.ts";
import { startSimulator, us, type Started } from "./start-simulator.ts";

const path = "/local-sandbox";

/** So that whatever the simulator is about to send to another request has been sent. */
async function roundTrips({ get }: Started): Promise<void> {
  for (let trip = 0; trip < 20; trip++) {
    await (await get("/universes", { key: "training" })).text();
  }
}

async function truthSize({ simulator, clock }: Started): Promise<number> {
  return [...simulator.truth(us, clock.now().utcMs)].length;
}

test("latency delays the answer by its milliseconds, several of them by their sum", async () => {
  const started = await startSimulator({
    faults: [
      { kind: "latency", ms: 300, key: "research" },
      { kind: "latency", ms: 200, key: "research" },
    ],
  });
  const { clock, get } = started;
  let answered = false;
  const response = get(path).then((answer) => {
    answered = true;
    return answer;
  });
  await clock.timerArmed();
  clock.advance(300);
  await clock.timerArmed();
  clock.advance(199);
  await roundTrips(started);
  expect(answered).toBe(false);
  clock.advance(1);
  expect((await response).status).toBe(200);
});

test.each([200, 401, 403, 429, 500, 503])("a status fault answers with %i", async (status) => {
  const { get } = await startSimulator({ faults: [{ kind: "status", status }] });
  const response = await get(path);
  expect(response.status).toBe(status);
  expect(response.headers.get("retry-after")).toBe(null);
  expect(await response.text()).not.toContain("local_sandboxes");
});

test("a status fault may tell when to come again", async () => {
  const { get } = await startSimulator({
    faults: [{ kind: "status", status: 503, retry_after: 17 }],
  });
  expect((await get(path)).headers.get("retry-after")).toBe("17");
});

test("a reset before the answer breaks the connection without a byte", async () => {
  const { get } = await startSimulator({ faults: [{ kind: "reset" }] });
  const error: unknown = await get(path).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ cause: { code: "ECONNRESET" } });
});

test("a reset in the body breaks the connection after some of it", async () => {
  const { get } = await startSimulator({
    faults: [{ kind: "reset", when: "body", after_bytes: 50 }],
  });
  const response = await get(path);
  expect(response.status).toBe(200);
  const reader = response.body?.getReader();
  expect((await reader?.read())?.value).toHaveLength(50);
  await expect(reader?.read()).rejects.toThrow("terminated");
});

test("a hanging request is never answered, and closing the simulator ends it", async () => {
  const started = await startSimulator({
    faults: [
      { kind: "hang", key: "research" },
      { kind: "latency", ms: 1, key: "research" },
    ],
  });
  let outcome = "waiting";
  const ended = started.get(path).then(
    () => (outcome = "answered"),
    () => (outcome = "ended"),
  );
  await started.clock.timerArmed();
  started.clock.advance(1);
  await roundTrips(started);
  expect(outcome).toBe("waiting");
  await started.simulator.close();
  await ended;
  expect(outcome).toBe("ended");
});

test("an answer that hangs in its body never ends", async () => {
  const started = await startSimulator({
    faults: [{ kind: "hang", when: "body", after_bytes: 50, key: "research" }],
  });
  const reader = (await started.get(path)).body?.getReader();
  expect((await reader?.read())?.value).toHaveLength(50);
  let outcome = "waiting";
  const ended = reader?.read().then(
    () => (outcome = "more"),
    () => (outcome = "ended"),
  );
  await roundTrips(started);
  expect(outcome).toBe("waiting");
  await started.simulator.close();
  await ended;
  expect(outcome).toBe("ended");
});

test("closing ends a request that waits for its latency, and leaves no timer", async () => {
  const { simulator, clock, get } = await startSimulator({
    faults: [{ kind: "latency", ms: 1_000 }],
  });
  const request = get(path).catch(() => "ended");
  await clock.timerArmed();
  await simulator.close();
  expect(await request).toBe("ended");
  expect(clock.armed).toBe(0);
});

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

test("a malformed answer is no JSON though it says so", async () => {
  const { get } = await startSimulator({ faults: [{ kind: "malformed" }] });
  const response = await get(path);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("application/json");
  await expect(response.json()).rejects.toThrow(SyntaxError);
});

test("a redirect names its address", async () => {
  const location = "https://elsewhere.example.com/";
  const { get } = await startSimulator({ faults: [{ kind: "redirect", location }] });
  const response = await get(path);
  expect(response.status).toBe(302);
  expect(response.headers.get("location")).toBe(location);
});

test("a partial listing counts the sandboxes that it does not list", async () => {
  const { simulator, get } = await startSimulator();
  const whole = await readListing(await get(path));
  simulator.setFaults([{ kind: "partial", share: 0.3 }]);
  const partial = await readListing(await get(path));
  expect(partial.total_count).toBe(whole.total_count);
  const share = 1 - partial.local_sandboxes.length / whole.local_sandboxes.length;
  expect(share).toBeGreaterThan(0.2);
  expect(share).toBeLessThan(0.45);
  for (const sandbox of partial.local_sandboxes) {
    expect(whole.local_sandboxes).toContainEqual(sandbox);
  }
});

test("servers vanish, the same ones each time, and nothing tells", async () => {
  const started = await startSimulator();
  const { simulator, get } = started;
  simulator.setFaults([{ kind: "vanish", share: 0.25 }]);
  const listing = await readListing(await get(path));
  expect(serversOf(listing)).toHaveLength((await truthSize(started)) * 0.75);
  expect(listing.total_count).toBe(listing.local_sandboxes.length);
  expect(await readListing(await get(path))).toEqual(listing);
  simulator.setFaults([{ kind: "vanish", share: 1 }]);
  expect(await readListing(await get(path))).toEqual({ local_sandboxes: [], total_count: 0 });
});

test("one vanishes even where the share is less than one", async () => {
  const started = await startSimulator({ servers: 3, faults: [{ kind: "vanish", share: 0.01 }] });
  expect(serversOf(await readListing(await started.get(path)))).toHaveLength(2);
});

test.each([
  ["null_status", '"status":null'],
  ["unheard_status", '"hibernating"'],
  ["missing_id", '{"created_at"'],
  ["missing_id", '{"server_name"'],
  ["wrong_types", '"status":7'],
  ["unknown_field", '"gpu":{"count":2}'],
  ["duplicate_id", /"id":"(0dd0[^"]+)".*"id":"\1"/],
  ["duplicate_id", /"local_sandbox_id":"(0dd0[^"]+)".*"local_sandbox_id":"\1"/],
  ["special_characters", String.raw`quote \" backslash \\ newline \n`],
  ["long_string", /x{5000}"/],
] as const)("odd things of the kind %s stand beside a true listing", async (kind, mark) => {
  const { simulator, get } = await startSimulator();
  const truth = await (await get(path)).text();
  simulator.setFaults([{ kind: "odd", kinds: [kind], length: 5_000 }]);
  const body = await (await get(path)).text();
  const listed = truth.slice(truth.indexOf("[") + 1, truth.lastIndexOf("]"));
  expect(body).toContain(listed);
  const before = body.slice(0, body.indexOf(listed));
  expect(before).toMatch(mark);
  const parsed: unknown = JSON.parse(body);
  expect(parsed).toHaveProperty("local_sandboxes");
});

test("an odd listing holds every kind at once and counts them", async () => {
  const { get } = await startSimulator({ servers: 0, faults: [{ kind: "odd" }] });
  const body: unknown = await (await get(path)).json();
  expect(body).toMatchObject({ total_count: 14 });
  expect(body).toHaveProperty("local_sandboxes.length", 14);
});

test("a huge listing holds that many servers", async () => {
  const { get } = await startSimulator({ faults: [{ kind: "huge", servers: 12_345 }] });
  expect(serversOf(await readListing(await get(path)))).toHaveLength(12_345);
});

test.each([path, "/universes", "/user/user-1"])(
  "%s may hold an absurdly deep value",
  async (at) => {
    const { get } = await startSimulator({ faults: [{ kind: "nested", depth: 50_000 }] });
    const body = await (await get(at)).text();
    expect(body).toContain(`${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}`);
    expect(() => {
      JSON.parse(body);
    }).not.toThrow(SyntaxError);
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

test("faults on the listing and on the way combine", async () => {
  const { get } = await startSimulator({
    faults: [
      { kind: "partial", share: 1 },
      { kind: "truncate", after_bytes: 10 },
    ],
  });
  expect(await (await get(path)).text()).toBe('{"local_sa');
});
