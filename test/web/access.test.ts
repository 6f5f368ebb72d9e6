import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, it } from "vitest";
import { everyInterface } from "../../src/lib/listen-address.ts";
import { parseNetwork } from "../../src/lib/networks.ts";
import { createAccessControl } from "../../src/web/access.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { acknowledge, basic, bearer, serve, settings } from "./support/serve-access.ts";
import { sendRaw } from "./support/send-raw.ts";
import { serveWeb } from "./support/serve-web.ts";

const lookUp = "/api/v1/lookups/user";

it.each<[string, Record<string, string>, string, number]>([
  ["nobody", {}, "/-/healthy", 200],
  ["nobody", {}, "/", 401],
  ["nobody", {}, "/metrics", 401],
  ["nobody", {}, "/api/v1/targets", 401],
  ["nobody", {}, "/api/openapi.json", 401],
  ["a token", bearer("prometheus-token"), "/metrics", 200],
  ["a token as the password of its name", basic("prometheus", "prometheus-token"), "/metrics", 200],
  ["a token of another role", bearer("prometheus-token"), "/api/v1/targets", 403],
  ["a part of a token", bearer("prometheus-toke"), "/metrics", 401],
  ["more than a token", bearer("prometheus-token2"), "/metrics", 401],
  ["a token in capitals", bearer("PROMETHEUS-TOKEN"), "/metrics", 401],
  ["a user, whose password may contain colons", basic("bob", "b:uilder"), "/", 200],
  ["the wrong password", basic("alice", "wonder"), "/", 401],
  ["the password of another", basic("alice", "b:uilder"), "/", 401],
  ["an unknown user", basic("mallory", "wonderland"), "/", 401],
  ["no colon", { authorization: "Basic YWxpY2U=" }, "/", 401],
  ["another scheme", { authorization: "Digest alice" }, "/", 401],
])("%s (%j) at %s is answered with %i", async (_, headers, path, status) => {
  const { get } = await serve();
  const answer = await get(path, { headers });
  expect(answer.status).toBe(status);
  if (status === 200) return;
  const wrong = "authorization" in headers ? "are wrong" : "Send a token";
  const refusal = status === 401 ? wrong : "The role metrics does not allow this.";
  expect(answer.text).toContain(refusal);
  const asked = answer.headers.get("www-authenticate");
  expect(asked?.startsWith("Basic realm=") ?? false).toBe(status === 401);
});

it("a request without credentials is refused everything where anonymous requests have no role", async () => {
  const { get } = await serve({ settings: { ...settings, anonymous: null } });
  expect((await get("/-/healthy")).status).toBe(401);
});

it("a user may do what the role allows, and send many requests at once", async () => {
  const { get, post } = await serve();
  expect((await post(acknowledge, basic("bob", "b:uilder"))).status).toBe(403);
  const headers = basic("alice", "wonderland");
  expect((await get("/-/reload", { method: "POST", headers })).status).toBe(400);
  const all = await Promise.all(Array.from({ length: 30 }, () => get("/", { headers })));
  expect(new Set(all.map(({ status }) => status))).toEqual(new Set([200]));
});

it("a user who has logged in does not wait for the passwords of others", async () => {
  const access = createAccessControl(settings, createFakeClock());
  const ended: string[] = [];
  const send = async (what: string, { authorization }: { readonly authorization: string }) => {
    const headers = { authorization: [authorization] };
    const address = "192.0.2.1";
    await access.decide({ headers, address, sender: address }, "read");
    ended.push(what);
  };
  await send("first", basic("alice", "wonderland"));
  await Promise.all([
    send("guess", basic("mallory", "guess")),
    send("again", basic("alice", "wonderland")),
  ]);
  expect(ended).toEqual(["first", "again", "guess"]);
});

it("a proxy at a trusted address names users, who have the role of that user or the default role", async () => {
  const proxyAt = (network: string) => {
    const trusted = [parseNetwork(network)].filter((each) => each !== undefined);
    const proxy = { header: "x-forwarded-user", trusted, role: "viewer" } as const;
    return { settings: { ...settings, proxy } };
  };
  const named = (name: string) => ({ "x-forwarded-user": name });
  const { get, post, logged } = await serve(proxyAt("127.0.0.0/8"));
  expect((await get("/", { headers: named("carol") })).status).toBe(200);
  expect((await post(acknowledge, named("carol"))).status).toBe(403);
  expect((await post(acknowledge, named("alice"))).status).toBe(200);
  expect(logged.at(-1)).toMatchObject({ event: "audit", user: "alice", role: "admin" });
  const elsewhere = await serve(proxyAt("192.0.2.0/24"));
  expect((await elsewhere.get("/", { headers: named("alice") })).status).toBe(401);
});

it.each([
  ["UTF-8", Buffer.from("Jürgen 王"), "Jürgen 王"],
  ["Latin-1", Buffer.from("Jürgen", "latin1"), "Jürgen"],
  ["ASCII", Buffer.from("carol"), "carol"],
  ["what is no UTF-8", Buffer.from([0xc3, 0x28]), "Ã("],
])("a proxy may send the name of a user in %s", async (_, name, author) => {
  const trusted = [parseNetwork("127.0.0.1")].filter((each) => each !== undefined);
  const proxy = { header: "x-user", trusted, role: "operator" } as const;
  const { address, logged } = await serve({ settings: { ...settings, proxy } });
  const headers =
    "host: localhost\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: 2\r\n";
  await sendRaw(
    address,
    Buffer.concat([
      Buffer.from(`POST ${acknowledge} HTTP/1.1\r\n${headers}x-user: `),
      name,
      Buffer.from("\r\n\r\n{}"),
    ]),
  );
  expect(logged).toMatchObject([{ event: "audit", user: author }]);
});

it("addresses that one host can choose from have their failures counted together", async () => {
  const access = createAccessControl(settings, createFakeClock());
  const statusAt = async (address: string) => {
    const headers = { authorization: ["Bearer no"] };
    const decision = await access.decide({ headers, address, sender: address }, "read");
    return decision.kind === "denied" && decision.status;
  };
  for (let host = 1; host <= 11; host += 1) {
    expect(await statusAt(`2001:db8:0:1::${host}`)).toBe(401);
    expect(await statusAt(`::ffff:192.0.2.${host}`)).toBe(401);
  }
  expect(await statusAt("2001:db8:0:1:ffff::1%eth0")).toBe(429);
  expect(await statusAt("2001:db8:0:2::1")).toBe(401);
  expect(await statusAt("::ffff:192.0.2.12")).toBe(401);
});

it.each([
  ["credentials", "authorization: Bearer ann-token\r\nauthorization: Bearer pager-token\r\n"],
  ["users that a proxy names", "x-user: alice\r\nx-user: bob\r\n"],
])("one of several %s is not chosen", async (_, headers) => {
  const trusted = [parseNetwork("127.0.0.1")].filter((each) => each !== undefined);
  const proxy = { header: "x-user", trusted, role: "admin" } as const;
  const { address } = await serve({ settings: { ...settings, proxy } });
  const request = `GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n${headers}\r\n`;
  expect((await sendRaw(address, request)).status).toBe(401);
});

describe("what is done", () => {
  it("has the sender as its author, whatever the request says", async () => {
    const requests: unknown[] = [];
    const call = (_: unknown, request: unknown): Promise<object> => {
      requests.push(request);
      return Promise.resolve({});
    };
    const events = (): Promise<never> => Promise.reject(new Error("no events"));
    const { post } = await serve({ api: { call, events } });
    await post(acknowledge, bearer("pager-token"));
    expect(requests).toEqual([{ id: "some-incident", author: "pager" }]);
  });

  it("is logged with its ids if it succeeds, and a look-up with whether it shows secrets", async () => {
    const { post, logged } = await serve();
    await post(lookUp, bearer("ann-token"), { id: "u1" });
    await post(lookUp, bearer("ann-token"), { id: "u1", show_secrets: true });
    const refused = await post(lookUp, bearer("pager-token"), { id: "u1", show_secrets: true });
    expect(refused.status).toBe(403);
    const audit = { path: lookUp, user: "ann" };
    expect(logged).toMatchObject([
      { ...audit, secrets: false },
      { ...audit, secrets: true },
    ]);
  });

  it("is logged also if the sender disconnects before the response", async () => {
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<object>();
    const isLogged = Promise.withResolvers<unknown>();
    const call = (): Promise<object> => {
      asked.resolve();
      return answer.promise;
    };
    const events = (): Promise<never> => Promise.reject(new Error("no events"));
    const log = { info: isLogged.resolve, error: isLogged.resolve };
    const { address, web } = await serve({ api: { call, events }, log });
    const leaving = new AbortController();
    const sent = fetch(address + lookUp, {
      method: "POST",
      headers: { "content-type": "application/json", ...bearer("ann-token") },
      body: JSON.stringify({ id: "u1", show_secrets: true }),
      signal: leaving.signal,
    }).catch(() => "left");
    await asked.promise;
    leaving.abort();
    expect(await sent).toBe("left");
    // Ends all connections.
    await web.close();
    answer.resolve({});
    const audit = { event: "audit", user: "ann", path: lookUp, status: 200, secrets: true };
    expect(await isLogged.promise).toMatchObject(audit);
  });

  it("is logged with its address, or not done, if the sender resets the connection at once", async () => {
    let calls = 0;
    const call = (): Promise<object> => {
      calls += 1;
      return Promise.resolve({});
    };
    const events = (): Promise<never> => Promise.reject(new Error("no events"));
    const { address, logged, errors } = await serve({ api: { call, events } });
    const { authorization } = bearer("pager-token");
    const headers = `host: localhost\r\nauthorization: ${authorization}\r\ncontent-type: application/json\r\n`;
    for (let attempt = 0; attempt < 10; attempt += 1) {
      const socket = connect(Number(new URL(address).port), "127.0.0.1");
      socket.on("error", () => {});
      await once(socket, "connect");
      socket.write(`POST ${acknowledge} HTTP/1.1\r\n${headers}content-length: 2\r\n\r\n{}`);
      socket.resetAndDestroy();
    }
    await sendRaw(address, "GET /-/healthy HTTP/1.0\r\n\r\n");
    expect([errors, logged.length]).toEqual([[], calls]);
    for (const each of logged) expect(each).toMatchObject({ address: "127.0.0.1" });
  });

  it("is reported with who did it, and what only reads is not", async () => {
    const { get, post, logged } = await serve({}, { host: everyInterface, port: 0 });
    await get("/api/v1/targets", { headers: bearer("pager-token") });
    await post(acknowledge, bearer("prometheus-token"));
    expect(logged).toEqual([]);
    await post(`${acknowledge}?a=b`, bearer("pager-token"));
    expect(logged).toEqual([
      {
        event: "audit",
        user: "pager",
        role: "operator",
        address: "127.0.0.1",
        method: "POST",
        path: "/api/v1/incidents/:id/acknowledge",
        operation: "acknowledgeIncident",
        status: 400,
        secrets: false,
      },
    ]);
  });
});

it("sends headers that keep a page from being framed, sniffed, cached or read by other sites", async () => {
  const { get } = await serveWeb();
  for (const path of ["/", "/metrics", "/-/ready", "/api/v1/targets", "/nothing"]) {
    const { headers } = await get(path);
    const policy = expect.stringMatching(/^default-src 'none'; frame-ancestors 'none'/);
    expect([path, Object.fromEntries(headers)]).toMatchObject([
      path,
      {
        "content-security-policy": policy,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cross-origin-resource-policy": "same-origin",
        // A page from a cache would show ages of another time.
        "cache-control":
          path.startsWith("/api/") && headers.has("etag") ? "private, no-cache" : "no-store",
      },
    ]);
  }
});
