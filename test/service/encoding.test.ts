import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { IncomingMessage } from "node:http";
import {
  brotliCompressSync,
  constants,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { createTestClient, startPeer } from "./peer.ts";
import { listedSandbox, listing, sandbox, server } from "./wire.ts";

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const small = json(listing([sandbox]));

/** The body in pieces of so many bytes, each sent on its own. */
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
  ["deflate, identity, gzip,", gzipSync(deflateRawSync(small))],
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

test("a long encoded listing is read as if it had come unencoded, poll after poll", async () => {
  const many = Array.from({ length: 5_000 }, (_, at) => ({
    ...sandbox,
    local_sandbox_id: `s${at}`,
    servers: [{ ...server, id: `v${(at * 7919) % 5_000}` }],
  }));
  const body = json(listing(many));
  for (const encode of [gzipSync, brotliCompressSync, deflateSync]) {
    const name = encode === gzipSync ? "gzip" : encode === deflateSync ? "deflate" : "br";
    const bytes = encode(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } });
    const { baseUrl, sockets } = await startEncodedPeer(name, bytes, { pieceBytes: 40_000 });
    const { client, call } = createTestClient(baseUrl, { maxBodyBytes: body.length });
    for (let poll = 0; poll < 3; poll++) {
      const result = await client.listSandboxes(call);
      const ids = result.kind === "ok" ? result.value.listing.sandboxes : [];
      expect(ids.map(({ servers: [only] }) => only?.id)).toEqual(
        many.map(({ servers: [only] }) => only?.id),
      );
    }
    expect(sockets).toHaveLength(1);
  }
});

test("an encoded body is limited by what it is decoded to", async () => {
  for (const [over, kind] of [
    [0, "ok"],
    [1, "failed"],
  ] as const) {
    const { baseUrl } = await startEncodedPeer("gzip", gzipSync(small));
    const { client, call } = createTestClient(baseUrl, { maxBodyBytes: small.length - over });
    expect(await client.listSandboxes(call)).toMatchObject({ kind });
    expect(await client.readListing(call)).toMatchObject({ kind });
  }
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
    const tooLarge = {
      kind: "failed",
      reason: "too_large",
      status: 200,
      detail: "the body is longer than 100000 bytes",
    };
    expect(await client.look(call, { operation: "list_universes" })).toEqual({
      ...tooLarge,
      retryAfterMs: null,
      validation: [],
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
  expect(await client.readListing(call)).toMatchObject({ reason: "too_large" });
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
  const failed = {
    kind: "failed",
    reason: "invalid_body",
    status: 200,
    detail: "the body is not what its content-encoding says, or breaks off",
  };
  expect(await client.listSandboxes(call)).toMatchObject(failed);
  expect(await client.readListing(call)).toMatchObject(failed);
  expect(ended.map(({ code }) => code)).toEqual(["invalid_body", "invalid_body"]);
});

test.for([
  ["zstd", " (zstd)"],
  ["gzip, compress", " (compress)"],
  ["T0PSECRET T0PSECRET", ""],
  ["gzip, gzip, gzip, gzip, gzip", "4 times"],
] as const)("a body in the encoding %s is refused with its reason", async ([encoding, said]) => {
  const { baseUrl } = await startEncodedPeer(encoding, zstdCompressSync(small));
  const { client, call } = createTestClient(baseUrl);
  const result = await client.listSandboxes(call);
  expect(result).toMatchObject({ reason: "invalid_body", status: 200 });
  expect(result).toHaveProperty(
    "detail",
    said === "4 times"
      ? "the body is encoded more than 4 times"
      : `the body has a content-encoding that was not asked for${said}`,
  );
});

test("an empty body is empty, however it says to be encoded", async () => {
  const { baseUrl } = await startEncodedPeer("gzip", Buffer.alloc(0));
  const { client, call } = createTestClient(baseUrl);
  expect(await client.listSandboxes(call)).toMatchObject({ detail: "the body is empty" });
});

test("look-ups and what an error says are decoded as well", async () => {
  const user = { userId: "u1", createdAt: "then", lastUsedAt: null };
  const of = async (value: unknown, status: number) => {
    const { baseUrl } = await startEncodedPeer("gzip", gzipSync(json(value)), { status });
    const { client, call } = createTestClient(baseUrl);
    return client.getUser(call, "u1");
  };
  expect(await of(user, 200)).toMatchObject({ kind: "ok", value: user });
  expect(await of({ detail: "User not found" }, 404)).toEqual({
    kind: "failed",
    reason: "http_error",
    status: 404,
    detail: "HTTP 404: nothing is known by this id",
    retryAfterMs: null,
    validation: [],
  });
  const entry = { loc: ["path", "userId"], msg: "bad", type: "string_type" };
  expect(await of({ detail: [entry] }, 422)).toMatchObject({ status: 422, validation: [entry] });
});

test("an error whose body cannot be decoded is still that error, and no proof of a missing operation", async () => {
  for (const encoding of ["gzip", "zstd"]) {
    const { baseUrl } = await startEncodedPeer(encoding, small, { status: 404 });
    const { client, call } = createTestClient(baseUrl);
    const result = await client.getUser(call, "u1");
    expect(result).toMatchObject({ reason: "http_error", status: 404 });
    expect(result).not.toHaveProperty("problem");
  }
});

test("an error whose body would inflate far beyond the limit is still that error", async () => {
  const body = gzipSync(Buffer.alloc(10 * 1024 * 1024, " "));
  const { baseUrl } = await startEncodedPeer("gzip", body, { status: 503 });
  const { client, call } = createTestClient(baseUrl);
  expect(await client.listSandboxes(call)).toMatchObject({ reason: "server_error", status: 503 });
});

test("a call that runs out of time while a body is decoded ends at once, and its connection is closed", async () => {
  const closed = Promise.withResolvers<void>();
  const { baseUrl } = await startPeer((_request, response) => {
    response.writeHead(200, { "content-encoding": "gzip" });
    response.on("close", () => closed.resolve());
    const start = small.subarray(0, small.lastIndexOf("total_count"));
    response.write(gzipSync(start, { finishFlush: constants.Z_SYNC_FLUSH }));
  });
  const { client, call, clock } = createTestClient(baseUrl);
  const isReceived = Promise.withResolvers<void>();
  const onChunk = () => isReceived.resolve();
  subscribe("undici:request:bodyChunkReceived", onChunk);
  onTestFinished(() => void unsubscribe("undici:request:bodyChunkReceived", onChunk));
  const poll = client.listSandboxes(call);
  await isReceived.promise;
  clock.advance(10_000);
  expect(await poll).toMatchObject({ reason: "timeout", status: 200 });
  await closed.promise;
});
