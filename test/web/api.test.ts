import { request as httpRequest } from "node:http";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { BusyError, RefusedError } from "../../src/lib/refused-error.ts";
import { serveWeb } from "./support/serve-web.ts";

interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A server that answers with the operation and request that it was called with, or as the test says. */
async function serve(
  answer: (operation: string, request: unknown) => Promise<object> = (operation, request) =>
    Promise.resolve({ operation, request }),
) {
  const { address, errors } = await serveWeb({
    api: {
      call: ({ name }, request) => answer(name, request),
      events: () => Promise.reject(new Error("not called")),
    },
    allowedHosts: ["watch.example.com"],
    externalUrl: "https://ops.example.com/sandwatch",
  });
  /** With any `Host` and `Origin`, which `fetch` does not let be set. */
  const send = async (path: string, { method = "GET", headers = {}, body }: Sent = {}) => {
    const { promise, resolve, reject } = Promise.withResolvers<{
      readonly status: number | undefined;
      readonly headers: Readonly<Record<string, unknown>>;
      readonly body: unknown;
    }>();
    const request = httpRequest(`${address}/api/v1${path}`, { method, headers }, (response) => {
      const { statusCode: status, headers: got } = response;
      text(response).then(
        (content) => resolve({ status, headers: got, body: content && JSON.parse(content) }),
        reject,
      );
    });
    request.on("error", reject).end(body);
    return promise;
  };
  const post = (path: string, headers: Sent["headers"] = {}, body = "{}") =>
    send(path, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body,
    });
  return { host: new URL(address).host, errors, send, post };
}

const problemType = { "content-type": "application/problem+json" };

describe("the API", () => {
  it.each([
    ["GET", "/targets?region=us", "listTargets", { region: "us" }],
    ["GET", "/servers?tag=a&tag=b", "listServers", { tag: ["a", "b"] }],
    ["POST", "/silences", "addSilence", { a: 1 }],
    ["POST", "/silences/s%2F1/expire", "expireSilence", { a: 1, id: "s/1" }],
    ["GET", "/notifications/7?a=1", "showNotification", { a: "1", id: "7" }],
  ])("calls the operation of %s %s", async (method, path, operation, request) => {
    const { send, post } = await serve();
    const answer = method === "GET" ? await send(path) : await post(path, {}, '{"a":1}');
    const status = operation === "addSilence" ? 201 : 200;
    expect(answer).toMatchObject({ status, body: { operation, request } });
  });

  it.each([
    ["invalid", 400, "Bad Request"],
    ["not_found", 404, "Not Found"],
    ["conflict", 409, "Conflict"],
    ["busy", 429, "Too Many Requests"],
  ] as const)("answers a refusal as %s with %i and a problem", async (kind, status, title) => {
    const errors = [{ path: "reason", allowed: "why" }];
    const server = await serve(() => Promise.reject(new RefusedError(kind, "No.", errors)));
    const body = { type: "about:blank", title, status, detail: "No.", errors };
    expect(await server.send("/silences")).toMatchObject({ status, headers: problemType, body });
    expect(server.errors).toEqual([]);
  });

  it.each([
    [0, "1"],
    [1_001, "2"],
  ])("states when to ask again after %i ms", async (ms, retryAfter) => {
    const { send } = await serve(() => Promise.reject(new BusyError("Later.", ms)));
    const headers = { "retry-after": retryAfter };
    expect(await send("/silences")).toMatchObject({ status: 429, headers });
  });

  it("answers an unexpected error without details, and reports it", async () => {
    const { send, errors } = await serve(() => Promise.reject(new Error("T0PSECRET at /data")));
    const { status, body } = await send("/silences");
    expect([status, JSON.stringify(body)]).toEqual([500, expect.not.stringContaining("T0PSECRET")]);
    expect(errors).toEqual(["T0PSECRET at /data"]);
  });

  it.each(["/silence", "/", "/notifications/1/2", "/../v2/silences", "/silences/1/2"])(
    "answers the unknown path %s with a problem",
    async (path) => {
      const { send } = await serve();
      expect(await send(path)).toMatchObject({ status: 404, headers: problemType });
    },
  );

  it.each([
    ["PUT", "/explain", "GET, HEAD"],
    ["DELETE", "/silences", "GET, HEAD, POST"],
    ["GET", "/incidents/i1/acknowledge", "POST"],
    ["POST", "/../openapi.json", "GET, HEAD"],
  ])("answers %s %s with the allowed methods", async (method, path, allow) => {
    const { send } = await serve();
    const body = { detail: `${method} is not allowed for this address, only ${allow}.` };
    const headers = { ...problemType, allow };
    expect(await send(path, { method })).toMatchObject({ status: 405, headers, body });
  });

  it("answers 304 as long as nothing changed", async () => {
    let word = "one";
    const { send } = await serve(() => Promise.resolve({ word }));
    const first = await send("/incidents");
    expect(first).toMatchObject({ status: 200, headers: { "cache-control": "private, no-cache" } });
    const etag = String(first.headers["etag"]);
    const again = (named: string) => send("/incidents", { headers: { "if-none-match": named } });
    for (const named of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
      expect(await again(named)).toMatchObject({ status: 304, body: "", headers: { etag } });
    }
    expect(await again('"other"')).toMatchObject({ status: 200 });
    word = "two";
    expect(await again(etag)).toMatchObject({ status: 200, body: { word } });
  });

  it("lets nobody keep an answer of the service", async () => {
    const { post } = await serve();
    const { headers } = await post("/lookups/universes");
    expect([headers["cache-control"], headers["etag"]]).toEqual(["no-store", undefined]);
  });

  it("refuses a POST with a query, with a body that is not JSON, and with one that is too long", async () => {
    const { post, send } = await serve();
    expect(await post("/silences?author=ann")).toMatchObject({ status: 400 });
    const body = { detail: "The body must be JSON." };
    expect(await post("/silences", {}, "{")).toMatchObject({ status: 400, body });
    const long = JSON.stringify({ reason: "x".repeat(300_000) });
    expect(await post("/silences", {}, long)).toMatchObject({ status: 413 });
    expect(await send("/silences/%zz")).toMatchObject({ status: 400, headers: problemType });
  });
});

describe("a request of another site's page", () => {
  it.each([
    "text/plain;application/json",
    "application/json-patch+json",
    "application/x-www-form-urlencoded",
  ])("is refused as %s", async (type) => {
    const { post } = await serve();
    expect(await post("/silences", { "content-type": type })).toMatchObject({ status: 415 });
  });

  it.each(["https://evil.example.com", "null", "http://127.0.0.1:1", "file://"])(
    "is refused from %s",
    async (origin) => {
      const { post } = await serve();
      expect(await post("/silences", { origin })).toMatchObject({
        status: 403,
        headers: problemType,
      });
    },
  );

  it("is refused under a host name that was made to lead here", async () => {
    const { post, send } = await serve();
    const host = "evil.example.com";
    const posted = await post("/silences", { host, origin: `http://${host}` });
    expect(posted).toMatchObject({ status: 403 });
    expect(await send("/incidents", { headers: { host } })).toMatchObject({ status: 403 });
  });

  it("is accepted from here, under any address and each configured name", async () => {
    const { host, post } = await serve();
    for (const name of [host, "localhost:9740", "[::1]:9740", "10.0.0.7", "Watch.Example.com"]) {
      const origin = `http://${name.toLowerCase()}`;
      expect(await post("/silences", { host: name, origin })).toMatchObject({ status: 201 });
    }
    const external = { host: "ops.example.com", origin: "https://ops.example.com" };
    expect(await post("/silences", external)).toMatchObject({ status: 201 });
    // As a proxy requests that names its upstream.
    expect(await post("/silences", { ...external, host })).toMatchObject({ status: 201 });
    const elsewhere = { host, origin: "https://ops.example.com:444" };
    expect(await post("/silences", elsewhere)).toMatchObject({ status: 403 });
    // As a proxy requests that names its own port, or none.
    const [ownPort, noPort] = ["http://127.0.0.1:1", "https://watch.example.com:8443"];
    const sameOrigin = { "sec-fetch-site": "same-origin" };
    const byPort = { host, origin: ownPort };
    expect(await post("/silences", { ...byPort, ...sameOrigin })).toMatchObject({ status: 201 });
    expect(await post("/silences", byPort)).toMatchObject({ status: 403 });
    const named = { host: "watch.example.com", origin: noPort };
    expect(await post("/silences", named)).toMatchObject({ status: 201 });
    expect(await post("/silences", { ...named, "sec-fetch-site": "same-site" })).toMatchObject({
      status: 403,
    });
    const overTls = { host: "watch.example.com", origin: "https://watch.example.com" };
    expect(await post("/silences", overTls)).toMatchObject({ status: 201 });
  });
});
