import type { IncomingMessage } from "node:http";
import {
  brotliCompressSync,
  constants,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from "node:zlib";
import { expect, test } from "vitest";
import { createTestClient, startPeer } from "./peer.ts";
import { listedSandbox, listing, sandbox, server } from "./support/listings.ts";

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const small = json(listing([sandbox]));

/** The body in pieces of N bytes, each sent on its own. */
async function startEncodedPeer(
  encoding: string | readonly string[],
  body: Buffer,
  { status = 200, pieceBytes = 1000 } = {},
) {
  const asked: IncomingMessage["headers"][] = [];
  const peer = await startPeer((request, response) => {
    asked.push(request.headers);
    response.setHeader("content-encoding", encoding);
    response.writeHead(status, { "content-type": "application/json" });
    for (let at = 0; at < body.length; at += pieceBytes) {
      response.write(body.subarray(at, at + pieceBytes));
    }
    response.end();
  });
  return { ...peer, asked };
}

const encoded = [
  ["gzip", gzipSync(small)],
  ["GZIP", gzipSync(small)],
  ["x-gzip", gzipSync(small)],
  ["br", brotliCompressSync(small)],
  ["deflate", deflateSync(small)],
  ["deflate", deflateRawSync(small)],
  ["gzip, br", brotliCompressSync(gzipSync(small))],
  ["deflate, identity, gzip,", gzipSync(deflateSync(small))],
  [["gzip", "br"], brotliCompressSync(gzipSync(small))],
  ["identity", small],
  ["", small],
  ["gzip", Buffer.concat([gzipSync(small.subarray(0, 50)), gzipSync(small.subarray(50))])],
] as const;
for (const [at, [encoding, body]] of encoded.entries()) {
  for (const pieceBytes of [1, 1000]) {
    test(`${at}: a listing in the encoding ${JSON.stringify(encoding)} is read, in pieces of ${pieceBytes} bytes`, async () => {
      const { baseUrl, asked } = await startEncodedPeer(encoding, body, { pieceBytes });
      const { client, call, ended } = createTestClient(baseUrl);
      const result = await client.listSandboxes(call);
      expect(result).toMatchObject({ kind: "ok", deviations: [], value: { partial: null } });
      expect(result.kind === "ok" && result.value.listing.sandboxes).toEqual([listedSandbox]);
      expect(ended.map(({ code }) => code)).toEqual(["200"]);
      expect(asked.map((headers) => headers["accept-encoding"])).toEqual(["gzip, br, deflate"]);
    });
  }
}

const many = Array.from({ length: 5_000 }, (_, at) => ({
  ...sandbox,
  local_sandbox_id: `s${at}`,
  servers: [{ ...server, id: `v${(at * 7919) % 5_000}` }],
}));
test.for([
  ["gzip", gzipSync],
  ["br", brotliCompressSync],
  ["deflate", deflateSync],
] as const)("a long listing in %s is read whole, poll after poll", async ([name, encode]) => {
  const body = json(listing(many));
  const bytes = encode(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } });
  const { baseUrl, sockets } = await startEncodedPeer(name, bytes, { pieceBytes: 40_000 });
  const { client, call } = createTestClient(baseUrl, { maxBodyBytes: body.length });
  for (let poll = 0; poll < 3; poll++) {
    const result = await client.listSandboxes(call);
    const taken = result.kind === "ok" ? result.value.listing.sandboxes : [];
    expect(taken.map(({ servers: [only] }) => only?.id)).toEqual(
      many.map(({ servers: [only] }) => only?.id),
    );
  }
  expect(sockets).toHaveLength(1);
});

test.for([
  [0, "ok"],
  [1, "failed"],
] as const)("an encoded body %i bytes over the limit once decoded is %s", async ([over, kind]) => {
  const { baseUrl } = await startEncodedPeer("gzip", gzipSync(small));
  const { client, call } = createTestClient(baseUrl, { maxBodyBytes: small.length - over });
  expect(await client.listSandboxes(call)).toMatchObject({ kind });
  expect(await client.look(call, { operation: "list_sandboxes" })).toMatchObject({ kind });
});

/** Sends what would be inflated to a thousand times its length, and never ends the answer. */
async function startBomb(encodings: string) {
  const closed = Promise.withResolvers<void>();
  let bytes = Buffer.alloc(32 * 1024 * 1024, "[");
  for (const _ of encodings.split(",")) bytes = gzipSync(bytes);
  const { baseUrl } = await startPeer((_request, response) => {
    response.writeHead(200, { "content-encoding": encodings });
    response.on("close", () => closed.resolve());
    response.write(bytes);
  });
  return { baseUrl, closed: closed.promise };
}

test.for(["gzip", "gzip, gzip"])(
  "a body that would inflate far beyond the limit (%s) is too large, and is not waited for",
  async (encodings) => {
    const { baseUrl, closed } = await startBomb(encodings);
    const { client, call, ended } = createTestClient(baseUrl, { maxBodyBytes: 100_000 });
    expect(await client.look(call, { operation: "list_universes" })).toMatchObject({
      reason: "too_large",
      status: 200,
      detail: "the body is longer than 100000 bytes",
    });
    expect(ended.map(({ code }) => code)).toEqual(["too_large"]);
    await closed;
  },
);

test("what one encoding hides from another one is limited, too", async () => {
  // What is sent and what comes out in the end are short: it is in between that it is long.
  const nothing = gzipSync("");
  const padded = Buffer.concat([...Array.from({ length: 50_000 }, () => nothing), gzipSync(small)]);
  const { baseUrl } = await startEncodedPeer("gzip, gzip", gzipSync(padded));
  const { client, call } = createTestClient(baseUrl, { maxBodyBytes: 100_000 });
  expect(await client.listSandboxes(call)).toMatchObject({ reason: "too_large" });
});

const gzipped = gzipSync(small);
const corrupt = Buffer.from(gzipped);
corrupt.fill(0xff, 30, 60);
test.for([
  ["that breaks off", "gzip", gzipped.subarray(0, -10)],
  ["that breaks off in its head", "gzip", gzipped.subarray(0, 5)],
  ["that is corrupt", "gzip", corrupt],
  ["that is not encoded", "gzip", small],
  ["whose second layer is missing", "gzip, br", gzipped],
  ["whose inner layer breaks off", "br, gzip", gzipSync(brotliCompressSync(small).subarray(0, -3))],
  ["that breaks off", "br", brotliCompressSync(small).subarray(0, -3)],
  ["that is not encoded", "br", small],
  ["that breaks off", "deflate", deflateSync(small).subarray(0, -6)],
  ["that breaks off", "deflate", deflateRawSync(small).subarray(0, -6)],
  ["that is not encoded", "deflate", small],
] as const)("a body %s is no body in the encoding %s", async ([, encoding, body]) => {
  const { baseUrl } = await startEncodedPeer(encoding, body);
  const { client, call, ended } = createTestClient(baseUrl);
  const detail = "the body does not match its content-encoding, or is incomplete";
  const failed = { kind: "failed", reason: "invalid_body", status: 200, detail };
  expect(await client.listSandboxes(call)).toMatchObject(failed);
  expect(ended.map(({ code }) => code)).toEqual(["invalid_body"]);
});

test.for([
  ["zstd", "the body has a content-encoding that was not requested (zstd)"],
  ["gzip, compress", "the body has a content-encoding that was not requested (compress)"],
  ["T0PSECRET T0PSECRET", "the body has a content-encoding that was not requested"],
  ["gzip, gzip, gzip, gzip, gzip", "the body is encoded more than 4 times"],
] as const)("a body in the encoding %s is refused with its reason", async ([encoding, detail]) => {
  const { baseUrl } = await startEncodedPeer(encoding, zstdCompressSync(small));
  const { client, call } = createTestClient(baseUrl);
  const result = await client.listSandboxes(call);
  expect(result).toMatchObject({ reason: "invalid_body", status: 200, detail });
});

test("an empty body is empty, however it says to be encoded", async () => {
  const { baseUrl } = await startEncodedPeer("gzip", Buffer.alloc(0));
  const { client, call } = createTestClient(baseUrl);
  expect(await client.listSandboxes(call)).toMatchObject({ detail: "the body is empty" });
});

const entry = { loc: ["path", "userId"], msg: "bad", type: "string_type" };
test.for([
  [200, { userId: "u1", createdAt: "then" }, { kind: "ok" }],
  [404, { detail: "User not found" }, { detail: "HTTP 404: this id is unknown" }],
  [422, { detail: [entry] }, { status: 422, validation: [entry] }],
] as const)("the body of a %i is decoded as well", async ([status, body, expected]) => {
  const { baseUrl } = await startEncodedPeer("gzip", gzipSync(json(body)), { status });
  const { client, call } = createTestClient(baseUrl);
  expect(await client.look(call, { operation: "get_user", id: "u1" })).toMatchObject(expected);
});

test.for([
  ["cannot be decoded", "gzip", small],
  ["has an unknown encoding", "zstd", small],
  ["would inflate far beyond the limit", "gzip", gzipSync(Buffer.alloc(10 * 1024 * 1024, " "))],
] as const)("an error whose body %s is still that error", async ([, encoding, body]) => {
  const { baseUrl } = await startEncodedPeer(encoding, body, { status: 404 });
  const { client, call } = createTestClient(baseUrl);
  const result = await client.look(call, { operation: "get_user", id: "u1" });
  expect(result).toMatchObject({ reason: "http_error", status: 404 });
  // It does not prove that the operation is missing.
  expect(result).not.toHaveProperty("problem");
});
