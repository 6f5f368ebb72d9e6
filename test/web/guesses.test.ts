import { describe, expect, it } from "vitest";
import { parseNetwork } from "../../src/lib/networks.ts";
import { createAccessControl } from "../../src/web/access.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { acknowledge, basic, bearer, serve, settings, user } from "./support/serve-access.ts";

describe("more than ten wrong passwords of a name from an address within a minute", () => {
  const guess = (index: number) => ({ headers: basic("alice", `no ${index}`) });
  const statuses = (answers: readonly { readonly status: number }[]) =>
    answers.map(({ status }) => status).toSorted((a, b) => a - b);

  it("are answered with 429, but for one in six seconds, also when they come at once", async () => {
    const { get, clock, refusals } = await serve();
    const tries = await Promise.all(
      Array.from({ length: 15 }, (_, index) => get("/", guess(index))),
    );
    expect(statuses(tries)).toEqual([...Array(11).fill(401), ...Array(4).fill(429)]);
    const limited = await get("/", guess(0));
    expect([limited.status, limited.headers.get("retry-after")]).toEqual([429, "6"]);
    expect(refusals.at(-1)).toEqual({ reason: "too_many_guesses", address: "127.0.0.1" });
    clock.advance(6_000);
    const later = [await get("/", guess(0)), await get("/", guess(1))];
    expect(statuses(later)).toEqual([401, 429]);
  });

  it("keep nobody out: not right passwords of others, nor tokens, nor health checks", async () => {
    const { get } = await serve();
    await Promise.all(Array.from({ length: 12 }, (_, index) => get("/", guess(index))));
    expect((await get("/", { headers: basic("bob", "b:uilder") })).status).toBe(200);
    expect((await get("/metrics", { headers: bearer("prometheus-token") })).status).toBe(200);
    expect((await get("/-/healthy")).status).toBe(200);
    expect((await get("/-/healthy", guess(13))).status).toBe(200);
  });

  it("do not delay the same user's at another address", async () => {
    const access = createAccessControl(settings, createFakeClock());
    const send = (password: string, address: string) => {
      const headers = { authorization: [basic("alice", password).authorization] };
      return access.decide({ headers, address, sender: address }, "read");
    };
    for (let count = 0; count < 12; count += 1) await send("no", "192.0.2.1");
    expect(await send("no", "192.0.2.1")).toMatchObject({ status: 429 });
    expect(await send("wonderland", "192.0.2.2")).toMatchObject({ kind: "permitted" });
    // A user who has logged in is known from then on.
    expect(await send("wonderland", "192.0.2.1")).toMatchObject({ kind: "permitted" });
  });
});

it("a right token passes after any number of wrong ones, which are answered with 429", async () => {
  const { get, clock } = await serve();
  const wrong = { headers: bearer("rotated-token") };
  for (let count = 0; count < 11; count += 1) expect((await get("/", wrong)).status).toBe(401);
  expect((await get("/", wrong)).status).toBe(429);
  expect((await get("/metrics", { headers: bearer("prometheus-token") })).status).toBe(200);
  clock.advance(60_000);
  expect((await get("/", wrong)).status).toBe(401);
});

describe("a password is checked after at most one of others", () => {
  const carol = user("carol", "viewer", "right");
  const everybody = Array.from({ length: 20 }, (_, index) => user(`user-${index}`, "viewer", "x"));
  const users = [...everybody, carol];

  it.each<[string, (index: number) => readonly [name: string, address: string]]>([
    ["guesses at one name from many addresses", (index) => ["user-1", `192.0.2.${index}`]],
    ["guesses at names that do not exist", (index) => [`nobody-${index}`, `192.0.2.${index}`]],
    ["guesses at many names from one address", (index) => [`user-${index}`, "192.0.2.1"]],
    ["guesses at the same name from elsewhere", (index) => ["carol", `192.0.2.${index}`]],
    ["guesses at the same name from the same address", () => ["carol", "198.51.100.1"]],
  ])("after %s", async (_, guessOf) => {
    const access = createAccessControl({ ...settings, users }, createFakeClock());
    const ended: string[] = [];
    const send = async (name: string, password: string, address: string) => {
      const headers = { authorization: [basic(name, password).authorization] };
      const { kind } = await access.decide({ headers, address, sender: address }, "read");
      ended.push(`${kind} ${name}`);
    };
    const guesses = Array.from({ length: 20 }, (__, index) => {
      const [name, address] = guessOf(index);
      return send(name, "wrong", address);
    });
    const right = send("carol", "right", "198.51.100.1");
    await Promise.all([...guesses, right]);
    expect(ended).toHaveLength(21);
    expect(ended.indexOf("permitted carol")).toBeLessThanOrEqual(1);
  });

  it("and those of clients that have left are not checked", async () => {
    const access = createAccessControl({ ...settings, users }, createFakeClock());
    let asked = 0;
    const send = (name: string, password: string, address: string, hasLeft: () => boolean) => {
      const headers = { authorization: [basic(name, password).authorization] };
      return access.decide({ headers, address, sender: address, hasLeft }, "read");
    };
    const left = (): boolean => (asked += 1) > 0;
    const guesses = Array.from({ length: 100 }, () => send("user-1", "x", "192.0.2.1", left));
    const beginMs = performance.now();
    const kinds = (await Promise.all(guesses)).map(({ kind }) => kind);
    expect([asked, new Set(kinds)]).toEqual([100, new Set(["denied"])]);
    expect(performance.now() - beginMs).toBeLessThan(5_000);
    expect(await send("user-1", "x", "192.0.2.1", () => false)).toMatchObject({
      kind: "permitted",
    });
  });

  it("and those that wait are a limited number, of which the least urgent is refused", async () => {
    const access = createAccessControl({ ...settings, users }, createFakeClock());
    const send = (name: string, password: string, address: string) => {
      const headers = { authorization: [basic(name, password).authorization] };
      return access.decide({ headers, address, sender: address }, "read");
    };
    const guesses = Array.from({ length: 300 }, (_, index) =>
      send("user-1", "wrong", `192.0.${index % 100}.1`),
    );
    expect(await send("carol", "right", "198.51.100.1")).toMatchObject({ kind: "permitted" });
    const decisions = await Promise.all(guesses);
    const limited = decisions.filter((each) => each.kind === "denied" && each.status === 429);
    expect(limited).toHaveLength(100);
  });
});

describe("behind a trusted proxy", () => {
  const trustedProxies = ["127.0.0.0/8", "10.0.0.0/8"]
    .map(parseNetwork)
    .filter((each) => each !== undefined);

  it.each([
    [
      "the last address that is no proxy counts",
      "203.0.113.7, 198.51.100.9, 10.1.2.3",
      "198.51.100.9",
    ],
    ["what is before an untrusted one does not", "10.9.9.9, 198.51.100.9", "198.51.100.9"],
    ["a port is dropped", "198.51.100.9:4711", "198.51.100.9"],
    ["so are brackets", "[2001:db8::9]:4711", "2001:db8::9"],
    ["what is no address does not count", "198.51.100.9, unknown", "127.0.0.1"],
    ["an empty one does not", "", "127.0.0.1"],
    ["if there are only proxies, the first counts", "10.0.0.9", "10.0.0.9"],
  ])("%s (%j)", async (_, forwarded, address) => {
    const { post, logged } = await serve({ trustedProxies });
    await post(acknowledge, { ...bearer("pager-token"), "x-forwarded-for": forwarded });
    expect(logged).toMatchObject([{ event: "audit", address }]);
  });

  it("the header of anyone else does not count", async () => {
    const { post, logged } = await serve();
    await post(acknowledge, { ...bearer("pager-token"), "x-forwarded-for": "198.51.100.9" });
    expect(logged).toMatchObject([{ event: "audit", address: "127.0.0.1" }]);
  });

  it("one client's wrong passwords do not limit those of another", async () => {
    const { get } = await serve({ trustedProxies });
    const from = (address: string) => ({
      headers: { ...basic("alice", "wrong"), "x-forwarded-for": address },
    });
    for (let count = 0; count < 11; count += 1) await get("/", from("198.51.100.9"));
    expect((await get("/", from("198.51.100.9"))).status).toBe(429);
    expect((await get("/", from("198.51.100.8"))).status).toBe(401);
  });
});
