import { createRequire } from "node:module";
import * as fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { CallError, createClient, orThrow } from "../../src/client/index.ts";
import type { CallResult, Client, ClientOptions } from "../../src/client/index.ts";
import { canStandInPath } from "../../src/service/operations.ts";
import { answerJson, startPeer, type Handler } from "../service/peer.ts";

const apiKey = "key-7f3a91";

async function connect(handler: Handler, options: Partial<ClientOptions> = {}) {
  const peer = await startPeer(handler);
  const client = createClient({ baseUrl: `${peer.baseUrl}/us`, apiKey, ...options });
  onTestFinished(() => client.close());
  return { client, peer };
}

type Ask = (client: Client, signal?: AbortSignal) => Promise<CallResult<unknown>>;

const asks: readonly Ask[] = [
  (client, signal) => client.listSandboxes(signal && { signal }),
  (client, signal) => client.getUser("u1", signal && { signal }),
  (client, signal) => client.listUniverses(signal && { signal }),
  (client, signal) => client.getUniverseData("n1", signal && { signal }),
  (client, signal) => client.getWhiteLabel("c1", signal && { signal }),
];

describe("the client", () => {
  it("calls the five operations with its key, and gives their values", async () => {
    const sent: (string | undefined)[] = [];
    const answers: Readonly<Record<string, unknown>> = {
      "/us/local-sandbox": { local_sandboxes: [], total_count: 0 },
      "/us/user/u1": { userId: "u1", createdAt: "then" },
      "/us/universes": { universes: [] },
      "/us/universes/n1/initial_data": [1],
      "/us/white-labeling/get/c1": { success: false, message: "no" },
    };
    const { client, peer } = await connect(({ url = "", headers }, response) => {
      sent.push(headers.authorization, headers["user-agent"]);
      answerJson(response, answers[url]);
    });
    const values = [];
    for (const ask of asks) values.push(orThrow(await ask(client)));
    expect(values).toEqual([
      { sandboxes: [], totalCount: 0 },
      { userId: "u1", createdAt: "then", lastUsedAt: null },
      [],
      [1],
      { success: false, data: null, message: "no" },
    ]);
    expect(peer.paths).toEqual(Object.keys(answers));
    expect([...new Set(sent)]).toEqual([`Bearer ${apiKey}`, "sandwatch-client"]);
  });

  it("gives a failure as a value, and with orThrow as an error", async () => {
    const detail = [{ loc: ["path", 1], msg: "bad", type: "t", input: "x" }];
    const { client } = await connect((_request, response) => answerJson(response, { detail }, 422));
    const result = await client.getUser("u1");
    const validation = [{ loc: ["path", 1], msg: "bad", type: "t" }];
    const fields = { reason: "http_error", status: 422, retryAfterMs: null, validation };
    expect(result).toEqual({ kind: "failed", detail: "HTTP 422", deviations: [], ...fields });
    expect(() => orThrow(result)).toThrow("The call failed (http_error): HTTP 422");
    const thrown = await Promise.resolve(result)
      .then(orThrow, String)
      .catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(CallError);
    expect(thrown).toMatchObject({ name: "CallError", problem: null, ...fields });
  });

  it("rejects with the reason of its caller's own signal, before the call and during it", async () => {
    const mine = new Error("mine");
    let arrived = (): void => {};
    const { client, peer } = await connect(() => arrived());
    for (const ask of asks) {
      await expect(ask(client, AbortSignal.abort(mine))).rejects.toBe(mine);
    }
    expect(peer.paths).toEqual([]);
    const stop = new AbortController();
    arrived = () => stop.abort(mine);
    await expect(client.listUniverses({ signal: stop.signal })).rejects.toBe(mine);
  });

  it("ends calls in progress when it is closed, and later ones", async () => {
    const arrived = Promise.withResolvers<void>();
    const { client } = await connect(() => arrived.resolve());
    const asked = client.listUniverses();
    await arrived.promise;
    await client[Symbol.asyncDispose]();
    const stopped = { kind: "failed", reason: "network", detail: "stopped" };
    expect(await asked).toMatchObject(stopped);
    expect(await client.listUniverses()).toMatchObject(stopped);
  });

  it("follows no redirect", async () => {
    const { client, peer } = await connect((_request, response) => {
      response.writeHead(302, { location: "/elsewhere" });
      response.end();
    });
    const result = await client.getUser("u1");
    expect(result).toMatchObject({ reason: "http_error", status: 302, problem: "redirected" });
    expect(() => orThrow(result)).toThrow(expect.objectContaining({ problem: "redirected" }));
    expect(peer.paths).toEqual(["/us/user/u1"]);
  });

  it.each(["", ".", "..", "\ud800"])("rejects an id that no path can hold: %j", async (id) => {
    const { client, peer } = await connect(() => {});
    await expect(client.getUser(id)).rejects.toThrow(RangeError);
    expect(peer.paths).toEqual([]);
  });

  it("sends any other id as it is", async () => {
    const { client, peer } = await connect((_request, response) => answerJson(response, {}));
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "binary" }).filter(canStandInPath), async (id) => {
        await client.getWhiteLabel(id);
        const parts = (peer.paths.at(-1) ?? "").split("/").map(decodeURIComponent);
        expect(parts).toEqual(["", "us", "white-labeling", "get", id]);
      }),
      { numRuns: 20 },
    );
  });

  it("ends in a value or a named failure, whatever JSON comes with whatever status", async () => {
    let next = { status: 200, body: "" };
    const { client } = await connect((_request, response) => {
      response.writeHead(next.status);
      response.end(next.body);
    });
    const status = fc.constantFrom(200, 201, 301, 400, 401, 404, 422, 429, 500, 503);
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), status, async (body, code) => {
        next = { status: code, body: JSON.stringify(body) };
        for (const ask of asks) {
          const result = await ask(client);
          expect(result.kind === "ok" ? code : result.status).toBe(code);
        }
      }),
      { numRuns: 20 },
    );
  });
});

describe("options that cannot be used", () => {
  const sound = { baseUrl: "https://host/us", apiKey };

  it.each<[Partial<ClientOptions>, string]>([
    [{ baseUrl: "host" }, "baseUrl must be"],
    [{ baseUrl: "https://ann:S3CRET@host" }, "baseUrl must be"],
    [{ baseUrl: "https://host?q=S3CRET" }, "baseUrl must be"],
    [{ baseUrl: "http://host" }, "allowHttp allows it"],
    [{ apiKey: "" }, "apiKey must be"],
    [{ apiKey: "S3CRET\n" }, "apiKey must be"],
    [{ timeoutMs: 0 }, "timeoutMs must be"],
    [{ timeoutMs: Number.NaN }, "timeoutMs must be"],
    [{ timeoutMs: 2 ** 31 }, "timeoutMs must be"],
    [{ maxBodyBytes: 1.5 }, "maxBodyBytes must be"],
    [{ userAgent: "a\nb" }, "userAgent must be"],
  ])("are refused at once, without being repeated: %j", (changed, says) => {
    const create = () => createClient({ ...sound, ...changed });
    expect(create).toThrow(TypeError);
    expect(create).toThrow(says);
    expect(create).not.toThrow("S3CRET");
  });

  it("are not addresses that lead to this machine, or to which a key may go unencrypted", async () => {
    for (const changed of [
      { baseUrl: "http://host", allowHttp: true },
      { baseUrl: "http://127.0.0.1:1" },
    ]) {
      const client = createClient({ ...sound, ...changed });
      await expect(client.close()).resolves.toBeUndefined();
    }
  });
});

it("can be required by programs that are no ES modules", () => {
  const required: unknown = createRequire(import.meta.url)("../../src/client/index.ts");
  expect(required).toMatchObject({ createClient: expect.any(Function) });
});
