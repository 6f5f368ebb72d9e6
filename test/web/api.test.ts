import { request as httpRequest } from "node:http";
import { text } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { BusyError, RefusedError } from "../../src/lib/refusal.ts";
import { createWebServer } from "../../src/web/server.ts";
import { exposing } from "./support/exposing.ts";
import { noApi } from "./support/no-api.ts";
import { emptyStatus } from "./support/status-view.ts";

interface Answer {
  readonly status: number | undefined;
  readonly type: string | undefined;
  readonly etag?: string | undefined;
  readonly allow?: string | undefined;
  readonly retryAfter?: string | undefined;
  readonly cacheControl?: string | undefined;
  readonly body: unknown;
}

interface Sent {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A server that answers with the operation and request that it was asked for, or as the test says. */
async function serve(
  answer: (operation: string, request: unknown) => Promise<object> = (operation, request) =>
    Promise.resolve({ operation, request }),
) {
  const errors: string[] = [];
  const web = createWebServer({
    metrics: exposing(() => Promise.resolve([])),
    readiness: () => Promise.resolve({ ready: true }),
    status: () => Promise.resolve(emptyStatus),
    api: {
      ...noApi,
      call: ({ name }, request) => answer(name, request),
      allowedHosts: ["watch.example.com"],
    },
    onError: (error) => errors.push(error.message),
  });
  const address = await web.listen({ host: "127.0.0.1", port: 0 });
  onTestFinished(() => web.close());
  const { host } = new URL(address);

  /** With any `Host` and `Origin`, which `fetch` would not let be set. */
  const send = (path: string, { method = "GET", headers = {}, body }: Sent = {}) =>
    new Promise<Answer>((resolve, reject) => {
      const request = httpRequest(`${address}/api/v1${path}`, { method, headers }, (response) => {
        const { statusCode: status, headers: got } = response;
        text(response).then(
          (content) =>
            resolve({
              status,
              type: got["content-type"],
              etag: got.etag,
              allow: got.allow,
              retryAfter: got["retry-after"],
              cacheControl: got["cache-control"],
              body: content && JSON.parse(content),
            }),
          reject,
        );
      });
      request.on("error", reject);
      request.end(body);
    });
  const post = (path: string, headers: Readonly<Record<string, string>> = {}, body = "{}") =>
    send(path, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body,
    });
  return { host, errors, send, post };
}

describe("the API", () => {
  it.each([
    ["GET", "/targets?region=us", "listTargets", { region: "us" }],
    ["GET", "/servers?tag=a&tag=b", "listServers", { tag: ["a", "b"] }],
    ["GET", "/changes", "listChanges", {}],
    ["POST", "/silences", "addSilence", { a: 1 }],
    ["POST", "/silences/s%2F1/expire", "expireSilence", { a: 1, id: "s/1" }],
    ["GET", "/notifications/7?a=1", "showNotification", { a: "1", id: "7" }],
    ["GET", "/lookups/user?id=a%2Fb+c", "lookUp", { operation: "user", id: "a/b c" }],
  ])(
    "calls the operation of %s %s with the fields of path, query and body",
    async (method, path, operation, request) => {
      const { send, post } = await serve();
      const answer = method === "GET" ? await send(path) : await post(path, {}, '{"a":1}');
      const status = operation === "addSilence" ? 201 : 200;
      expect(answer).toMatchObject({ status, body: { operation, request } });
    },
  );

  it.each([
    ["invalid", 400, "Bad Request"],
    ["not_found", 404, "Not Found"],
    ["conflict", 409, "Conflict"],
    ["busy", 429, "Too Many Requests"],
  ] as const)(
    "answers what is refused as %s with %i and a problem",
    async (kind, status, title) => {
      const faults = [{ path: "reason", allowed: "why" }];
      const { send, errors } = await serve(() =>
        Promise.reject(new RefusedError(kind, "No.", faults)),
      );
      expect(await send("/silences")).toEqual({
        status,
        type: "application/problem+json",
        body: { type: "about:blank", title, status, detail: "No.", errors: faults },
      });
      expect(errors).toEqual([]);
    },
  );

  it.each([
    [0, "1"],
    [1, "1"],
    [1_000, "1"],
    [1_001, "2"],
  ])("answers what may be asked again after %i ms with Retry-After: %s", async (ms, retryAfter) => {
    const { send } = await serve(() => Promise.reject(new BusyError("Later.", ms)));
    expect(await send("/silences")).toMatchObject({ status: 429, retryAfter });
  });

  it("answers what broke without details, and reports it", async () => {
    const { send, errors } = await serve(() => Promise.reject(new Error("T0PSECRET at /data")));
    const { status, body } = await send("/silences");
    expect([status, JSON.stringify(body)]).toEqual([500, expect.not.stringContaining("T0PSECRET")]);
    expect(errors).toEqual(["T0PSECRET at /data"]);
  });

  it("answers what it does not have with a problem, not with a page", async () => {
    const { send } = await serve();
    for (const path of ["/silence", "/", "/notifications/1/2", "/../v2/silences", "/silences/"]) {
      const { status, type } = await send(path);
      expect([path, status, type]).toEqual([path, 404, "application/problem+json"]);
    }
    const { body } = await send("/silence");
    expect(body).toMatchObject({ detail: expect.stringContaining("targets, servers, changes") });
  });

  it("answers an address that cannot be read with a problem", async () => {
    const { send } = await serve();
    const answer = await send("/silences/%zz");
    expect(answer).toMatchObject({ status: 400, type: "application/problem+json" });
  });

  it.each([
    ["PUT", "/explain", "GET, HEAD", "GET and HEAD"],
    ["DELETE", "/silences", "GET, POST, HEAD", "GET, POST and HEAD"],
    ["GET", "/incidents/i1/acknowledge", "POST", "POST"],
    ["POST", "/../openapi.json", "GET, HEAD", "GET and HEAD"],
  ])("says what there is instead of %s %s", async (method, path, allow, words) => {
    const { send } = await serve();
    const answer = await send(path, { method });
    expect(answer).toMatchObject({ status: 405, type: "application/problem+json", allow });
    const detail = `There is no ${method} of this address, only ${words}.`;
    expect(answer.body).toMatchObject({ detail });
  });

  it("is asked again each time, and repeats nothing that is as it was", async () => {
    let word = "one";
    const { send } = await serve(() => Promise.resolve({ word }));
    const first = await send("/incidents");
    expect(first).toMatchObject({ status: 200, body: { word }, cacheControl: "no-cache" });
    const { etag = "" } = first;
    const again = (named: string) => send("/incidents", { headers: { "if-none-match": named } });
    for (const named of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
      expect(await again(named)).toMatchObject({ status: 304, body: "", etag });
    }
    expect(await again('"other"')).toMatchObject({ status: 200 });
    word = "two";
    expect(await again(etag)).toMatchObject({ status: 200, body: { word } });
  });

  it("has nobody keep what the service was asked", async () => {
    const { send } = await serve();
    const answer = await send("/lookups/universes");
    expect(answer).toMatchObject({ status: 200, cacheControl: "no-store", etag: undefined });
  });

  it("answers HEAD with the head of what GET would be answered with", async () => {
    const { send } = await serve();
    const whole = await send("/silences");
    expect(await send("/silences", { method: "HEAD" })).toEqual({ ...whole, body: "" });
  });

  it("refuses a POST with a query", async () => {
    const { post } = await serve();
    expect(await post("/silences?author=ann")).toMatchObject({ status: 400 });
  });

  it("answers a body that is no JSON with a problem", async () => {
    const { post } = await serve();
    const detail = "The body must be JSON.";
    expect(await post("/silences", {}, "{")).toMatchObject({ status: 400, body: { detail } });
  });

  it("refuses a body that is too long", async () => {
    const { post } = await serve();
    const body = JSON.stringify({ reason: "x".repeat(300_000) });
    expect(await post("/silences", {}, body)).toMatchObject({ status: 413 });
  });
});

describe("what a page of somebody else's could send to the API", () => {
  it.each([
    "text/plain",
    "text/plain; x=application/json",
    "text/plain;application/json",
    "application/json-patch+json",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
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
        type: "application/problem+json",
      });
    },
  );

  it.each(["cross-site", "same-site"])("uses up no limit of a key (%s)", async (site) => {
    const { send } = await serve();
    const asked = (value: string) =>
      send("/lookups/universes", { headers: { "sec-fetch-site": value } });
    expect(await asked(site)).toMatchObject({ status: 403, type: "application/problem+json" });
    expect(await asked("same-origin")).toMatchObject({ status: 200 });
  });

  it("is refused under a name that was made to lead here, to look at as well", async () => {
    const { post, send } = await serve();
    const host = "evil.example.com";
    expect(await post("/silences", { host, origin: `http://${host}` })).toMatchObject({
      status: 403,
    });
    expect(await send("/incidents", { headers: { host } })).toMatchObject({ status: 403 });
  });

  it("is taken from here, under any address and each configured name", async () => {
    const { host, post } = await serve();
    const names = [host, "localhost:9740", "[::1]:9740", "10.0.0.7", "Watch.Example.com"];
    for (const name of names) {
      const origin = `http://${name.toLowerCase()}`;
      expect(await post("/silences", { host: name, origin })).toMatchObject({ status: 201 });
    }
    const overTls = { host: "watch.example.com", origin: "https://watch.example.com" };
    expect(await post("/silences", overTls)).toMatchObject({ status: 201 });
  });
});
