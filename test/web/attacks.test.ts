import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { strictHeaders } from "../../src/web/browser-protection.ts";
import { sendRaw, type RawResponse } from "./support/send-raw.ts";
import { serveWeb } from "./support/serve-web.ts";

// The list of attacks on the server. Those that are tested elsewhere:
// - from a page of another origin, in a browser: test/e2e/browser.test.ts; by headers alone: api.test.ts
// - guessing passwords: access.test.ts
// - many connections: connection-limit.test.ts; slow readers: scrape.test.ts and events.test.ts
// - anything at random: test/api/random-requests.test.ts

const host = "host: localhost\r\n";
const end = "connection: close\r\n\r\n";

/** A server that reports each call of an operation and each reload. */
async function serve() {
  const done: string[] = [];
  const { address, errors } = await serveWeb({
    api: {
      call({ name }, request) {
        done.push(name);
        return Promise.resolve({ request });
      },
      events: () => Promise.resolve({ events: [], after: "", hasMore: false }),
    },
    requestReload() {
      done.push("reload");
      return { kind: "refused", reason: "only counted" };
    },
  });
  return { address, done, errors };
}

function read({ headers, body }: RawResponse) {
  return { headers: Object.fromEntries(headers), problem: JSON.parse(body) };
}

/** As every refusal: a problem, with the strict headers. */
function refusal(status: number) {
  return {
    headers: expect.objectContaining({
      ...strictHeaders,
      "content-type": "application/problem+json",
    }),
    problem: expect.objectContaining({ type: "about:blank", status }),
  };
}

describe("DNS rebinding", () => {
  it.each([
    ["another name", "host: evil.example.com\r\n", 403],
    ["a name that begins as an address", "host: 127.0.0.1.evil.example.com\r\n", 403],
    ["a name that ends as one", "host: evil-localhost\r\n", 403],
    ["a name before a user's", "host: localhost@evil.example.com\r\n", 403],
    ["an encoded line break", "host: localhost%0d%0ax:y\r\n", 403],
    ["an empty name", "host: \r\n", 403],
    ["no name", "", 400],
    ["two names", `host: evil.example.com\r\n${host}`, 400],
  ])("with %s is refused", async (_, named, status) => {
    const { address, done } = await serve();
    const response = await sendRaw(address, `GET /api/v1/targets HTTP/1.1\r\n${named}${end}`);
    expect(read(response)).toEqual(refusal(status));
    expect(done).toEqual([]);
  });
});

describe("a request that is too large", () => {
  it.each([
    ["headers", "/metrics", `x: ${"a".repeat(20_000)}\r\n`],
    ["a URL", `/api/v1/targets?region=${"a".repeat(20_000)}`, ""],
    ["many headers", "/metrics", "a: b\r\n".repeat(5_000)],
  ])("by its %s is refused", async (_, url, headers) => {
    const { address } = await serve();
    const response = await sendRaw(address, `GET ${url} HTTP/1.1\r\n${host}${headers}${end}`);
    expect(read(response)).toEqual(refusal(431));
  });

  it.each([
    ["/api/v1/silences", 100_000_000],
    ["/api/v1/nothing", 300_000],
  ])("by its body to %s is refused before it has arrived", async (path, length) => {
    const { address, done } = await serve();
    const headers = `${host}content-type: application/json\r\ncontent-length: ${length}\r\n`;
    const request = `POST ${path} HTTP/1.1\r\n${headers}${end}{`;
    expect(read(await sendRaw(address, request))).toEqual(refusal(413));
    expect(done).toEqual([]);
  });
});

it("slow headers and bodies are ended, while others are answered", async () => {
  const { address } = await serveWeb({ requestTimeoutMs: 100 });
  const slow = [
    "GET / HTTP/1.1\r\nx: ",
    `POST /api/v1/silences HTTP/1.1\r\n${host}content-type: application/json\r\ncontent-length: 9\r\n\r\n{`,
  ];
  const [ofHeaders, ofBody, usual] = await Promise.all([
    ...slow.map((begun) => sendRaw(address, begun)),
    sendRaw(address, `GET /-/healthy HTTP/1.1\r\n${host}${end}`),
  ]);
  expect(usual?.status).toBe(200);
  expect([ofHeaders, ofBody].map((each) => each && read(each))).toEqual([
    refusal(408),
    refusal(408),
  ]);
});

it("a client that does not read its response is disconnected", async () => {
  const { address } = await serveWeb({
    api: {
      call: () => Promise.resolve({ text: "x".repeat(2 ** 25) }),
      events: () => Promise.reject(new Error("not called")),
    },
    inactivityTimeoutMs: 300,
  });
  const socket = connect(Number(new URL(address).port), "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  const closed = new Promise((resolve) => void socket.once("close", resolve));
  socket.on("error", () => {});
  socket.write(`GET /api/v1/targets HTTP/1.1\r\n${host}\r\n`);
  await once(socket, "readable");
  // Each of these is closed after the same time. The first time, Node.js finds that something was sent since.
  for (let later = 0; later < 3; later += 1) {
    await once(connect(Number(new URL(address).port), "127.0.0.1").resume(), "close");
  }
  socket.resume();
  await closed;
  expect(socket.bytesRead).toBeGreaterThan(0);
  expect(socket.bytesRead).toBeLessThan(2 ** 25);
});

describe("path traversal", () => {
  it.each([
    "/../../etc/passwd",
    "/..%2f..%2fetc%2fpasswd",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/%2e%2e%2fetc%2fpasswd",
    "/%252e%252e%252fetc%252fpasswd",
    "/..%5c..%5cetc%5cpasswd",
    "/..;/-/reload",
    "/assets/../../package.json",
    "/assets%00/x/page.js",
    "/assets/x%2f..%2f..%2fmetrics",
    "/api/v1/../../-/reload",
    "/api/v1/notifications/..%2f..%2f..%2f-%2freload",
    "//evil.example.com/",
    "//-/reload",
    "http://evil.example.com/-/reload",
    "http://localhost/-/reload",
    "*",
  ])("for %s leads nowhere else", async (path) => {
    const { address, done, errors } = await serve();
    for (const method of ["GET", "POST"]) {
      const { status, text } = await sendRaw(
        address,
        `${method} ${path} HTTP/1.1\r\n${host}${end}`,
      );
      const isAnId = path.startsWith("/api/v1/notifications/") && method === "GET";
      expect([method, status < 500 && status >= 400]).toEqual([method, !isAnId]);
      expect(text).not.toContain("root:");
    }
    expect(done).not.toContain("reload");
    expect(errors).toEqual([]);
  });

  it("with a byte that no URL has is refused", async () => {
    const { address } = await serve();
    expect(read(await sendRaw(address, `GET /metrics\0 HTTP/1.1\r\n${host}${end}`))).toEqual(
      refusal(400),
    );
  });
});

describe("header injection", () => {
  const broken = "x%0d%0aset-cookie:%20a=b";
  it.each([
    [`GET /${broken}`, ""],
    [`GET /api/v1/targets?region=${broken}`, ""],
    [`GET /api/v1/notifications/${broken}`, ""],
    [`GET /metrics?collect[]=${broken}`, ""],
    [`GET /api/v1/events?after=${broken}`, ""],
    ["GET /metrics", "x-request-id: a%0d%0aset-cookie: a=b\r\n"],
    ["GET /metrics", 'accept: a/b;x="%0d%0aset-cookie: a=b"\r\n'],
    ["GET /metrics", 'if-none-match: "a\rset-cookie: a=b"\r\n'],
    ["GET /metrics", "x: a\nset-cookie: a=b\r\n"],
  ])("by %s %j adds no header", async (line, headers) => {
    const { address } = await serve();
    const response = await sendRaw(address, `${line} HTTP/1.1\r\n${host}${headers}${end}`);
    expect(response.status).toBeGreaterThan(0);
    expect(response.headers.has("set-cookie")).toBe(false);
  });

  it("by an author is text in the body alone", async () => {
    const { address } = await serve();
    const body = JSON.stringify({ author: "ann\r\nset-cookie: a=b" });
    const headers = `${host}content-type: application/json\r\ncontent-length: ${body.length}\r\n`;
    const response = await sendRaw(
      address,
      `POST /api/v1/silences HTTP/1.1\r\n${headers}${end}${body}`,
    );
    expect([response.status, response.headers.has("set-cookie")]).toEqual([201, false]);
    expect(JSON.parse(response.body)).toEqual({ request: JSON.parse(body) });
  });
});

describe("request smuggling", () => {
  const hidden = `POST /-/reload HTTP/1.1\r\n${host}\r\n`;
  const chunked = "transfer-encoding: chunked\r\n";
  it.each([
    ["a length and chunks", `content-length: 3\r\n${chunked}`, `0\r\n\r\n${hidden}`],
    ["chunks and a length", `${chunked}content-length: 3\r\n`, `0\r\n\r\n${hidden}`],
    ["two lengths", `content-length: 0\r\ncontent-length: ${hidden.length}\r\n`, hidden],
    ["a list of lengths", `content-length: 0, ${hidden.length}\r\n`, hidden],
    ["a length with a sign", `content-length: +${hidden.length}\r\n`, hidden],
    ["a negative length", "content-length: -1\r\n", hidden],
    ["a blank before the colon", `content-length : ${hidden.length}\r\n`, hidden],
    ["chunks that are not last", "transfer-encoding: chunked, identity\r\n", `0\r\n\r\n${hidden}`],
    ["an unknown encoding", "transfer-encoding: xchunked\r\n", hidden],
    ["a header of two lines", `x: a\r\n ${chunked}`, hidden],
    ["a bare line feed", `x: a\n${chunked}`, hidden],
    ["a size of a chunk that is no number", chunked, `0x5\r\nabcde\r\n0\r\n\r\n${hidden}`],
    ["a chunk that is longer than its size", chunked, `1\r\nabc\r\n0\r\n\r\n${hidden}`],
  ])("by %s is refused, and the connection is closed", async (_, headers, body) => {
    const { address, done } = await serve();
    const json = "content-type: application/json\r\n";
    const request = `POST /api/v1/silences HTTP/1.1\r\n${host}${json}${headers}\r\n${body}`;
    const response = await sendRaw(address, request);
    expect(read(response)).toEqual(refusal(400));
    expect([done, response.text.match(/^HTTP\/1\.1 /gm)]).toEqual([[], ["HTTP/1.1 "]]);
  });
});

describe("a method that a page or a proxy could misuse", () => {
  it.each(["OPTIONS", "TRACE", "PUT", "DELETE", "PATCH", "PROPFIND"])(
    "as %s is refused, without a permission for other origins or the request's headers",
    async (method) => {
      const { address, done } = await serve();
      for (const path of ["/", "/metrics", "/-/reload", "/api/v1/silences"]) {
        const cookie = "cookie: session=T0PSECRET\r\n";
        const request = `${method} ${path} HTTP/1.1\r\n${host}${cookie}${end}`;
        const { status, headers, text } = await sendRaw(address, request);
        expect([path, status]).toEqual([path, 405]);
        expect(Object.fromEntries(headers)).toMatchObject(strictHeaders);
        expect(text).not.toMatch(/access-control|T0PSECRET/i);
      }
      expect(done).toEqual([]);
    },
  );

  it("as HEAD is answered as GET, without a body", async () => {
    const { address } = await serve();
    for (const path of ["/", "/metrics", "/-/healthy", "/api/v1/targets", "/nothing"]) {
      const get = await sendRaw(address, `GET ${path} HTTP/1.1\r\n${host}${end}`);
      const head = await sendRaw(address, `HEAD ${path} HTTP/1.1\r\n${host}${end}`);
      expect([path, head.status, head.body]).toEqual([path, get.status, ""]);
      for (const name of Object.keys(strictHeaders))
        expect(head.headers.get(name)).toBe(get.headers.get(name));
    }
  });

  it("as CONNECT opens no tunnel", async () => {
    const { address } = await serve();
    const { text } = await sendRaw(
      address,
      `CONNECT evil.example.com:443 HTTP/1.1\r\n${host}${end}`,
    );
    expect(text).not.toMatch(/^HTTP\/1\.1 2/);
  });
});
