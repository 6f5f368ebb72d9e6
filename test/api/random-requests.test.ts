import { readFileSync } from "node:fs";
import { METHODS } from "node:http";
import { gzipSync } from "node:zlib";
import * as fc from "fast-check";
import { expect, it } from "vitest";
import { operationsRoot } from "../../src/api/operation.ts";
import { apiOperations } from "../../src/api/operations.ts";
import { strictHeaders } from "../../src/web/browser-protection.ts";
import { fixedCases, randomCases } from "../support/random-cases.ts";
import { watchWorld } from "../support/watched-world.ts";
import { sendRaw } from "../web/support/send-raw.ts";

const anyOf = (...all: readonly string[]) => fc.constantFrom(...all);
const odd = anyOf(
  "",
  "0",
  "-1",
  "1e9",
  "us",
  "research",
  "*",
  "null",
  "__proto__",
  "constructor",
  "%00",
  "%0d%0aa:b",
  "%",
  "%zz",
  "%ff",
  "..",
  "%2e%2e",
  "%2f",
  "\\",
  "'",
  '"',
  "a".repeat(200),
  "2026-13-45T99:99:99Z",
  "P1D",
  "é",
  "%F0%9F%98%80",
  "[]",
);
const text = fc.oneof(odd, fc.string({ unit: "binary", maxLength: 12 }).map(urlSafe));
function urlSafe(each: string): string {
  return encodeURIComponent(each.toWellFormed());
}

/** All that is no operation of the API, from the generated table. */
const pages = Array.from(
  readFileSync("docs/access.md", "utf8").matchAll(/^\| `GET (\/(?!api)\S*)`/gm),
  ([, path = ""]) => path,
);

const fields = [
  ...new Set(apiOperations.flatMap(({ request }) => Object.keys(Object(request).shape ?? {}))),
  "range",
  "page",
  "q",
];
const name = fc.oneof(anyOf(...fields), anyOf(...fields), odd);
const path = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(anyOf(...apiOperations.map(({ path: each }) => each), "/events"), text)
      .map(([each, id]) => operationsRoot + each.replaceAll(/\{\w+\}/g, id || "x")),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(anyOf(...pages), text)
      .map(([page, id]) => page.replaceAll(/\{\w+\}/g, id || "x")),
  },
  {
    weight: 1,
    arbitrary: anyOf("/-/reload", "/api", "/api/openapi.json", "*", "//", "/api/v1//targets"),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(anyOf("/", "/api/", "/api/v1/", "http://evil.example/api/v1/", ""), text)
      .map((parts) => parts.join("")),
  },
);
const query = fc.oneof(
  fc.constant(""),
  fc
    .array(fc.tuple(name, text), { maxLength: 4 })
    .map((all) => `?${all.map((pair) => pair.join("=")).join("&")}`),
);
const method = fc.oneof(
  anyOf("GET", "POST", "POST"),
  anyOf(...METHODS),
  anyOf("get", "FOO", "PRI", ""),
);
const header = fc.oneof(
  anyOf(
    "transfer-encoding: chunked",
    "transfer-encoding: gzip, chunked",
    "content-length: 3",
    "content-length: -1",
    "content-encoding: gzip",
    "expect: 100-continue",
    "expect: more",
    "upgrade: websocket\r\nconnection: upgrade",
    "accept-encoding: br;q=0, zstd",
    "accept: application/openmetrics-text",
    'accept: */*;q="',
    "if-none-match: *",
    'if-none-match: "',
    "last-event-id: x",
    "last-event-id: 0",
    "range: bytes=0-1",
    "cookie: a=b",
    "host: evil.example",
    "origin: null",
    "origin: http://evil.example",
    "sec-fetch-site: cross-site",
    "authorization: Basic !!!",
    "authorization: Bearer",
    "x-forwarded-user: admin",
    "x-http-method-override: POST",
    "te: trailers",
    "content-type: text/plain",
    "content-type: application/json; charset=utf-16",
    "content-type: application/json;",
    "x: \u0001",
    "x:\n y",
    ": x",
    "no colon",
  ),
  fc
    .tuple(
      anyOf("x", "accept", "content-type", "host", "origin", "if-none-match"),
      fc.string({ unit: "binary-ascii", maxLength: 20 }),
    )
    .map(([each, content]) => `${each}: ${content}`),
);
const values = fc.oneof(
  odd,
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom<unknown>("2h", { region: "us" }, ["us"], [], {}, 1e308, "us/research"),
);
const body = fc.oneof(
  fc.constant(""),
  {
    weight: 4,
    arbitrary: fc.dictionary(name, values, { maxKeys: 5 }).map((each) => JSON.stringify(each)),
  },
  fc.json(),
  anyOf(
    "{",
    "null",
    "[]",
    '"x"',
    '{"__proto__":{"id":1}}',
    '{"constructor":{"prototype":1}}',
    "\ufeff{}",
    "[".repeat(50_000),
    `{"reason":"${"x".repeat(300_000)}"}`,
  ),
  fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  fc.constant(gzipSync("{}")),
);

const requests = fc
  .record({
    method,
    path,
    query,
    headers: fc.array(header, { maxLength: 3 }),
    body,
    isUsual: fc.boolean(),
    type: anyOf("application/json", "application/json", "text/plain"),
  })
  .map(({ method: verb, path: target, query: asked, headers, body: content, isUsual, type }) => {
    const bytes = Buffer.from(content);
    const usual = ["host: localhost", `content-type: ${type}`, `content-length: ${bytes.length}`];
    const all = [
      ...(isUsual || headers.length === 0 ? usual : []),
      ...headers,
      "connection: close",
    ];
    const head = `${verb} ${target}${asked} HTTP/1.1\r\n${all.join("\r\n")}\r\n\r\n`;
    return Buffer.concat([Buffer.from(head, "latin1"), bytes]);
  });

/** Some routes have a policy and caching of their own. */
const { "content-security-policy": _, "cache-control": __, ...sameEverywhere } = strictHeaders;

/** Whether a request may end before its body does, so that the server would wait for more. */
function isPerhapsCutOff(request: Buffer | string): boolean {
  const [head = ""] = request.toString("latin1").split("\r\n\r\n");
  return (
    /^(?:transfer-encoding|content-length: (?:3|-1)$)/im.test(head) ||
    !/\r\n\r\n/.test(request.toString("latin1"))
  );
}

it(`${randomCases(500)} random requests are answered or refused as documented, none with a status of 500`, async () => {
  const world = await watchWorld({ probes: [] });
  await world.poll();
  world.show(0, "error");
  await world.poll();
  const address = await world.address();
  const statuses = new Map<number, number>();
  await fc.assert(
    fc.asyncProperty(fc.array(requests, { minLength: 20, maxLength: 20 }), async (all) => {
      const responses = await Promise.all(
        all.map((each) => sendRaw(address, each, { isCutOff: isPerhapsCutOff(each) })),
      );
      for (const [index, { status, headers, body: content }] of responses.entries()) {
        const head = all[index]?.toString("latin1") ?? "";
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        // A request for a tunnel, or one whose sender has gone, may have no response.
        if (status === 0 && (head.startsWith("CONNECT") || isPerhapsCutOff(head))) continue;
        expect([status === 0 || status >= 500 ? status : "fine", head]).toEqual(["fine", head]);
        const policy = headers.get("content-security-policy");
        expect(policy).toMatch(/^default-src 'none';.*frame-ancestors 'none'/);
        const sent = { head, ...Object.fromEntries(headers) };
        expect(sent).toMatchObject({ head, ...sameEverywhere });
        if (status < 400 || !/^[A-Z-]+ \/api[/?]/.test(head) || head.startsWith("HEAD")) continue;
        expect([headers.get("content-type"), head]).toEqual(["application/problem+json", head]);
        expect(JSON.parse(content)).toMatchObject({ status, detail: expect.any(String) });
      }
    }),
    { ...fixedCases(25), endOnFailure: true },
  );
  expect(pages).toContain("/servers");
  expect([...statuses.keys()]).toEqual(expect.arrayContaining([200, 400, 403, 404, 405, 415]));
  expect(world.log.filter(({ event }) => event === "http.failed")).toEqual([]);
});
