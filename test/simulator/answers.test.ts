import { expect, test } from "vitest";
import { z } from "zod";
import { startSimulator } from "./start-simulator.ts";

const validationError = z.strictObject({
  detail: z
    .array(
      z.strictObject({
        loc: z.array(z.string()).min(1),
        msg: z.string().min(1),
        type: z.string().min(1),
        input: z.unknown(),
        ctx: z.record(z.string(), z.unknown()),
      }),
    )
    .min(1),
});
const paths = {
  get_user: (id: string) => `/user/${id}`,
  get_universe_data: (id: string) => `/universes/${id}/initial_data`,
  get_white_label: (id: string) => `/white-labeling/get/${id}`,
};
const parameters: Readonly<Record<string, string>> = {
  get_user: "userId",
  get_universe_data: "universe_id",
  get_white_label: "client_id",
};
const lookUps = Object.entries(paths);

test.each([
  ["no Authorization", undefined, 401],
  ["another scheme", "Basic cmVzZWFyY2g=", 401],
  ["no key after Bearer", "Bearer ", 401],
  ["two words after Bearer", "Bearer research-key more", 401],
  ["an unknown key", "Bearer research-key2", 403],
  ["a known key", "Bearer research-key", 200],
  ["a known key and a lower-case scheme", "bearer research-key", 200],
])("%s is answered %s with %i", async (_, authorization, status) => {
  const { get } = await startSimulator();
  const headers = authorization === undefined ? {} : { authorization };
  for (const path of ["/local-sandbox", "/universes", "/user/user-1"]) {
    expect((await get(path, { init: { headers } })).status).toBe(status);
  }
});

test.each(["POST", "PUT", "DELETE", "HEAD"])("%s is refused with 405", async (method) => {
  const { get } = await startSimulator();
  const headers = { authorization: "Bearer research-key" };
  const response = await get("/local-sandbox", { init: { method, headers } });
  expect(response.status).toBe(405);
  expect(response.headers.get("allow")).toBe("GET");
});

test.each([
  "",
  "/",
  "/local-sandboxes",
  "/local-sandbox/1",
  "/user/",
  "/universes/x/data",
  "/../mars/universes",
])("the unknown path %j is answered with 404", async (path) => {
  const { get } = await startSimulator();
  expect((await get(path)).status).toBe(404);
});

test.each(lookUps)("%s answers an unknown id with 404", async (_, path) => {
  const { get } = await startSimulator();
  expect((await get(path("nobody"))).status).toBe(404);
});

test.each(lookUps)(
  "%s answers an invalid id with the interface's validation error",
  async (operation, path) => {
    const { get } = await startSimulator();
    const tooLong = "x".repeat(129);
    for (const [id, input] of [
      [tooLong, tooLong],
      ["a%0Ab", "a\nb"],
      ["%00", "\0"],
      ["%FF", "%FF"],
    ] as const) {
      const response = await get(path(id));
      expect(response.status).toBe(422);
      const [entry] = validationError.parse(await response.json()).detail;
      expect(entry?.input).toBe(input);
      expect(entry?.loc).toEqual(["path", parameters[operation]]);
    }
    expect((await get(path("x".repeat(128)))).status).toBe(404);
  },
);

test("a known user is told, and some were never used", async () => {
  const { simulator, get } = await startSimulator();
  const user = z.strictObject({
    userId: z.string(),
    createdAt: z.iso.datetime({ offset: true }),
    lastUsedAt: z.iso.datetime({ offset: true }).nullable(),
  });
  const { userIds } = simulator.knownIds("us");
  const users = await Promise.all(
    userIds.map(async (id) => user.parse(await (await get(`/user/${id}`)).json())),
  );
  expect(users.map(({ userId }) => userId)).toEqual(userIds);
  expect(userIds[0]).toBe("user-1");
  expect(users.some(({ lastUsedAt }) => lastUsedAt === null)).toBe(true);
  expect(users.some(({ lastUsedAt }) => lastUsedAt !== null)).toBe(true);
});

test("a user of the same id is another one in another region", async () => {
  const { get } = await startSimulator();
  const createdMs = async (region: string) => {
    const user = z.object({ createdAt: z.string() });
    return Date.parse(user.parse(await (await get("/user/user-1", { region })).json()).createdAt);
  };
  expect(await createdMs("us")).not.toBe(await createdMs("eu"));
});

test("a handful of universes is told, others in each region", async () => {
  const { simulator, get } = await startSimulator();
  const universes = z.strictObject({
    universes: z.array(
      z.strictObject({
        universe_id: z.string(),
        name: z.string(),
        description: z.string(),
        domain: z.string(),
        personas: z.array(z.record(z.string(), z.string())).min(1),
        task_nums: z.array(z.string()).min(1),
        created_at: z.iso.datetime({ offset: true }),
      }),
    ),
  });
  const idsIn = async (region: string) => {
    const body = universes.parse(await (await get("/universes", { region })).json());
    return body.universes.map((universe) => universe.universe_id);
  };
  const us = await idsIn("us");
  expect(us.length).toBeGreaterThanOrEqual(3);
  expect(us).toEqual(simulator.knownIds("us").universeIds);
  const eu = await idsIn("eu");
  expect(eu).toEqual(simulator.knownIds("eu").universeIds);
  expect(eu.filter((id) => us.includes(id))).toEqual([]);
});

test("the initial data of a universe is an object for each service", async () => {
  const { simulator, get } = await startSimulator();
  for (const id of simulator.knownIds("us").universeIds) {
    const response = await get(`/universes/${id}/initial_data`);
    const services = z.record(z.string(), z.record(z.string(), z.unknown()));
    expect(Object.keys(services.parse(await response.json())).length).toBeGreaterThan(1);
    expect((await get(`/universes/${id}/initial_data`, { region: "eu" })).status).toBe(404);
  }
});

test("a white-label look-up gives data, or for the failing client a message", async () => {
  const { simulator, get } = await startSimulator();
  const { clientIds, failingClientId } = simulator.knownIds("us");
  expect(clientIds[0]).toBe("client-1");
  for (const id of clientIds) {
    const body: unknown = await (await get(`/white-labeling/get/${id}`)).json();
    expect(body).toMatchObject({ success: true, data: { client_id: id }, message: null });
  }
  const failing = await get(`/white-labeling/get/${failingClientId}`);
  expect(failing.status).toBe(200);
  expect(await failing.json()).toEqual({
    success: false,
    data: null,
    message: "White-labeling is suspended for this client",
  });
});

test("past two requests a second a key gets 429 with Retry-After, in that region alone", async () => {
  const { clock, get } = await startSimulator({ rateLimit: undefined });
  const statusOf = async (how: { key?: string; region?: string } = {}) =>
    (await get("/universes", how)).status;
  expect([await statusOf(), await statusOf(), await statusOf()]).toEqual([200, 200, 429]);
  expect((await get("/local-sandbox")).headers.get("retry-after")).toBe("1");
  expect(await statusOf({ region: "eu" })).toBe(200);
  expect(await statusOf({ key: "training" })).toBe(200);
  clock.advance(499);
  expect([await statusOf(), await statusOf()]).toEqual([200, 429]);
  clock.advance(60_000);
  expect([await statusOf(), await statusOf(), await statusOf()]).toEqual([200, 200, 429]);
});

test("Retry-After tells whole seconds until the next request may come", async () => {
  const { clock, get } = await startSimulator({ rateLimit: { requests: 1, perMs: 30_000 } });
  await get("/universes");
  clock.advance(10_500);
  const refused = await get("/universes");
  expect(refused.status).toBe(429);
  expect(refused.headers.get("retry-after")).toBe("20");
  clock.advance(20_000);
  expect((await get("/universes")).status).toBe(200);
});
