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

interface Sent {
  readonly status?: number;
  readonly pieceBytes?: number;
  readonly maxBodyBytes?: number;
}

/** A client of a service that sends this body in pieces. */
async function start(
  encoding: string | readonly string[],
  body: Buffer,
  { status = 200, pieceBytes = 1000, maxBodyBytes = 1024 * 1024 }: Sent = {},
) {
  const peer = await startPeer((_request, response) => {
    response.setHeader("content-encoding", encoding);
    response.writeHead(status, { "content-type": "application/json" });
    for (let at = 0; at < body.length; at += pieceBytes) {
      response.write(body.subarray(at, at + pieceBytes));
    }
    response.end();
  });
  const { client, call, ended } = createTestClient(peer.baseUrl, { maxBodyBytes });
  return {
    ...peer,
    list: () => client.listSandboxes(call),
    look: (lookup: Parameters<typeof client.look>[1]) => client.look(call, lookup),
    codes: () => ended.map(({ code }) => code),
  };
}

const getUser = { operation: "get_user", id: "u1" } as const;

test.for([
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
] as const)("a listing in the encoding %j is read, in pieces of any size", async ([name, body]) => {
  for (const pieceBytes of [1, 1000]) {
    const { list, codes } = await start(name, body, { pieceBytes });
    const value = { partial: null, listing: { sandboxes: [listedSandbox] } };
    expect(await list()).toMatchObject({ kind: "ok", deviations: [], value });
    expect(codes()).toEqual(["200"]);
  }
});

test.for([
  ["gzip", gzipSync],
  ["br", brotliCompressSync],
  ["deflate", deflateSync],
] as const)("a long listing in %s is read whole, poll after poll", async ([name, encode]) => {
  const ids = Array.from({ length: 5_000 }, (_, at) => `v${(at * 7919) % 5_000}`);
  const many = ids.map((id) => ({
    ...sandbox,
    local_sandbox_id: id,
    servers: [{ ...server, id }],
  }));
  const body = json(listing(many));
  const bytes = encode(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } });
  const how = { pieceBytes: 40_000, maxBodyBytes: body.length };
  const { list, sockets } = await start(name, bytes, how);
  for (let poll = 0; poll < 3; poll++) {
    const result = await list();
    const taken = result.kind === "ok" ? result.value.listing.sandboxes : [];
    expect(taken.map(({ servers: [only] }) => only?.id)).toEqual(ids);
  }
  expect(sockets).toHaveLength(1);
});

test.for([
  [0, "ok"],
  [1, "failed"],
] as const)("an encoded body %i bytes over the limit once decoded is %s", async ([over, kind]) => {
  const { list, look } = await start("gzip", gzipSync(small), {
    maxBodyBytes: small.length - over,
  });
  expect(await list()).toMatchObject({ kind });
  expect(await look({ operation: "list_sandboxes" })).toMatchObject({ kind });
});

test.for(["gzip", "gzip, gzip"])(
  "a body that would inflate far beyond the limit (%s) is too large, and is not waited for",
  async (encodings) => {
    const closed = Promise.withResolvers<void>();
    let bytes = Buffer.alloc(32 * 1024 * 1024, "[");
    for (const _ of encodings.split(",")) bytes = gzipSync(bytes);
    const { baseUrl } = await startPeer((_request, response) => {
      response.writeHead(200, { "content-encoding": encodings });
      response.on("close", () => closed.resolve());
      // It never ends.
      response.write(bytes);
    });
    const { client, call } = createTestClient(baseUrl, { maxBodyBytes: 100_000 });
    const detail = "the body is longer than 100000 bytes";
    const tooLarge = { reason: "too_large", status: 200, detail };
    expect(await client.look(call, { operation: "list_universes" })).toMatchObject(tooLarge);
    await closed.promise;
  },
);

test("what one encoding hides from another one is limited, too", async () => {
  // What is sent and what comes out in the end are short: it is in between that it is long.
  const nothing = gzipSync("");
  const padded = Buffer.concat([...Array.from({ length: 50_000 }, () => nothing), gzipSync(small)]);
  const { list } = await start("gzip, gzip", gzipSync(padded), { maxBodyBytes: 100_000 });
  expect(await list()).toMatchObject({ reason: "too_large" });
});

const gzipped = gzipSync(small);
test.for([
  ["breaks off", "gzip", gzipped.subarray(0, -10)],
  ["breaks off in its head", "gzip", gzipped.subarray(0, 5)],
  ["is corrupt", "gzip", Buffer.from(gzipped).fill(0xff, 30, 60)],
  ["is not encoded", "gzip", small],
  ["has no second layer", "gzip, br", gzipped],
  ["breaks off within", "br, gzip", gzipSync(brotliCompressSync(small).subarray(0, -3))],
  ["breaks off", "br", brotliCompressSync(small).subarray(0, -3)],
  ["is not encoded", "br", small],
  ["breaks off", "deflate", deflateSync(small).subarray(0, -6)],
  ["breaks off", "deflate", deflateRawSync(small).subarray(0, -6)],
  ["is not encoded", "deflate", small],
] as const)("a body that %s is no body in the encoding %s", async ([, encoding, body]) => {
  const { list, codes } = await start(encoding, body);
  const detail = "the body does not match its content-encoding, or is incomplete";
  const failed = { kind: "failed", reason: "invalid_body", status: 200, detail };
  expect(await list()).toMatchObject(failed);
  expect(codes()).toEqual(["invalid_body"]);
});

test("an empty body is empty, however it says to be encoded", async () => {
  const { list } = await start("gzip", Buffer.alloc(0));
  expect(await list()).toMatchObject({ detail: "the body is empty" });
});

test.for([
  ["zstd", "the body has a content-encoding that was not requested (zstd)"],
  ["gzip, compress", "the body has a content-encoding that was not requested (compress)"],
  ["T0PSECRET T0PSECRET", "the body has a content-encoding that was not requested"],
  ["gzip, gzip, gzip, gzip, gzip", "the body is encoded more than 4 times"],
] as const)("a body in the encoding %s is refused with its reason", async ([encoding, detail]) => {
  const { list } = await start(encoding, zstdCompressSync(small));
  expect(await list()).toMatchObject({ reason: "invalid_body", status: 200, detail });
});

const entry = { loc: ["path", "userId"], msg: "bad", type: "string_type" };
test.for([
  [200, { userId: "u1", createdAt: "then" }, { kind: "ok" }],
  [404, { detail: "User not found" }, { detail: "HTTP 404: this id is unknown" }],
  [422, { detail: [entry] }, { status: 422, validation: [entry] }],
] as const)("the body of a %i is decoded as well", async ([status, body, expected]) => {
  const { look } = await start("gzip", gzipSync(json(body)), { status });
  expect(await look(getUser)).toMatchObject(expected);
});

test.for([
  ["cannot be decoded", "gzip", small],
  ["has an unknown encoding", "zstd", small],
  ["would inflate far beyond the limit", "gzip", gzipSync(Buffer.alloc(10 * 1024 * 1024, " "))],
] as const)("an error whose body %s is still that error", async ([, encoding, body]) => {
  const { look } = await start(encoding, body, { status: 404 });
  const result = await look(getUser);
  expect(result).toMatchObject({ reason: "http_error", status: 404 });
  // It does not prove that the operation is missing.
  expect(result).not.toHaveProperty("problem");
});
