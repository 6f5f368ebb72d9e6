import { createServer as createSecureServer } from "node:https";
import { describe, expect, it } from "vitest";
import { parseNetwork } from "../../src/lib/networks.ts";
import { Secret } from "../../src/lib/secret.ts";
import { startPeer, startTcpPeer } from "../service/peer.ts";
import { listenOnLoopback } from "../support/listen.ts";
import { ca } from "../support/private-ca.ts";
import { cert, key } from "../support/self-signed.ts";
import { sendRaw } from "./support/send-raw.ts";
import { bearer, serve, settings } from "./support/serve-access.ts";
import { activeText as text, serveStandby } from "./support/serve-standby.ts";
import { serveWeb } from "./support/serve-web.ts";

const loopback = [parseNetwork("127.0.0.0/8")].flatMap((network) => network ?? []);
const elsewhere = [parseNetwork("192.0.2.0/24")].flatMap((network) => network ?? []);

/** An active process that answers each request with what it got. */
async function startEcho() {
  return startPeer((request, response) => {
    const { method, url, rawHeaders } = request;
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const headers = rawHeaders.flatMap((name, at) =>
        at % 2 === 0 ? [[name.toLowerCase(), rawHeaders[at + 1]]] : [],
      );
      const body = Buffer.concat(parts).toString("latin1");
      response.end(Buffer.from(JSON.stringify({ method, url, headers, body })));
    });
  });
}

async function echoOf(address: string, lines: readonly string[], body = "") {
  const bytes = `${[...lines, "connection: close"].join("\r\n")}\r\n\r\n${body}`;
  const answer = await sendRaw(address, Buffer.from(bytes, "latin1"));
  expect(answer.status).toBe(200);
  return JSON.parse(Buffer.from(answer.body, "latin1").toString());
}

describe("what a standby passes on", () => {
  it("is the request as it is, but for what concerns its connection", async () => {
    const { baseUrl } = await startEcho();
    const { address } = await serveStandby(baseUrl);
    const echo = await echoOf(
      address,
      [
        "POST //a/%2e%2e/b%20c?d=e&d=f HTTP/1.1",
        "Host: localhost:1",
        "Authorization: Bearer one",
        "Authorization: Bearer two",
        "X-Name: J\u00c3\u00bcrgen",
        "Connection: x-hop",
        "X-Hop: 1",
        "Upgrade: websocket",
        "Via: 1.1 sandwatch.example.com",
        "Content-Length: 3",
      ],
      "abc",
    );
    expect(echo).toEqual({
      method: "POST",
      url: "//a/%2e%2e/b%20c?d=e&d=f",
      body: "abc",
      headers: [
        ["host", "localhost:1"],
        ["connection", "keep-alive"],
        ["authorization", "Bearer one"],
        ["authorization", "Bearer two"],
        ["x-name", "J\u00c3\u00bcrgen"],
        ["via", "1.1 sandwatch.example.com"],
        ["via", "1.1 sandwatch-standby"],
        ["x-forwarded-for", "127.0.0.1"],
        ["content-length", "3"],
      ],
    });
  });

  it("is a user named by a trusted proxy, and by nobody else", async () => {
    const { baseUrl } = await startEcho();
    const lines = ["GET / HTTP/1.1", "Host: localhost", "X-User: ann"];
    const proxy = { header: "x-user", role: "operator" } as const;
    const named = async (trusted: typeof loopback) => {
      const { address } = await serveStandby(baseUrl, { proxy: { ...proxy, trusted } });
      const { headers } = await echoOf(address, lines);
      return headers.find(([name]: readonly string[]) => name === "x-user");
    };
    expect(await named(loopback)).toEqual(["x-user", "ann"]);
    expect(await named(elsewhere)).toBeUndefined();
  });

  it("is the address of the caller, which the active process believes of a trusted proxy only", async () => {
    const ask = async (trustedProxies: typeof loopback, atStandby: typeof loopback) => {
      const active = await serve({ settings, trustedProxies });
      const { get } = await serveStandby(active.address, { trustedProxies: atStandby });
      const headers = { ...bearer("wrong"), "x-forwarded-for": "203.0.113.7" };
      expect((await get("/api/v1/targets", { headers })).status).toBe(401);
      return active.refusals.map(({ address }) => address);
    };
    expect(await ask(loopback, loopback)).toEqual(["203.0.113.7"]);
    expect(await ask([], loopback)).toEqual(["127.0.0.1"]);
    expect(await ask(loopback, elsewhere)).toEqual(["127.0.0.1"]);
  });

  it("has the credentials of the caller and no others", async () => {
    const active = await serve({ settings });
    const { get } = await serveStandby(active.address);
    const status = async (headers: Readonly<Record<string, string>>) =>
      (await get("/api/v1/servers", { headers })).status;
    expect(await status(bearer("pager-token"))).toBe(200);
    expect(await status(bearer("prometheus-token"))).toBe(403);
    expect(await status({})).toBe(401);
    const { address } = await serveStandby((await startEcho()).baseUrl);
    const { headers } = await echoOf(address, ["GET / HTTP/1.1", "Host: localhost"]);
    expect(headers.map(([name]: readonly string[]) => name)).toEqual([
      "host",
      "connection",
      "x-forwarded-for",
      "via",
    ]);
  });

  it("goes to a process with a certificate of its authorities, with the own one where it asks for one", async () => {
    const paths: string[] = [];
    const server = createSecureServer(
      { cert, key, ca: cert, requestCert: true, rejectUnauthorized: true },
      (request, response) => {
        paths.push(request.url ?? "");
        response.end("from the active process");
      },
    );
    const active = `https://localhost:${await listenOnLoopback(server)}`;
    const clientCertificate = () => new Secret(`${cert}\n${key}`);
    const { get } = await serveStandby(active, { ca: cert, clientCertificate });
    expect((await get("/x")).text).toBe("from the active process");
    for (const more of [{ ca: cert }, { ca, clientCertificate }, { clientCertificate }]) {
      const other = await serveStandby(active, more);
      expect(await other.get("/x", { headers: bearer("secret") })).toMatchObject({ status: 503 });
    }
    expect(paths).toEqual(["/x"]);
  });

  it("is a large body as it comes, and the refusal of one that is too large", async () => {
    const { baseUrl } = await startEcho();
    const { get } = await serveStandby(baseUrl);
    const { text: answer } = await get("/", { method: "POST", body: "x".repeat(250_000) });
    expect(JSON.parse(answer).body).toHaveLength(250_000);
    const body = "x".repeat(3_000_000);
    const active = await serveWeb();
    const standby = await serveStandby(active.address);
    const json = { "content-type": "application/json" };
    const refused = await standby.get("/api/v1/silences", { method: "POST", body, headers: json });
    expect([refused.status, refused.text]).toEqual([413, expect.stringContaining("has at most")]);
  });
});

describe("what a standby answers", () => {
  it("is what the active process does, its refusals and their Retry-After included, asked once", async () => {
    const { baseUrl, paths } = await startPeer((_, response) => {
      response.writeHead(503, {
        "retry-after": "7",
        "set-cookie": ["a=1", "b=2"],
        "x-hop": "1",
        connection: "x-hop",
      });
      response.end("busy");
    });
    const { get } = await serveStandby(baseUrl);
    const { status, text: answer, headers } = await get("/api/v1/targets");
    expect([status, answer, headers.get("retry-after")]).toEqual([503, "busy", "7"]);
    expect([headers.getSetCookie(), headers.get("x-hop")]).toEqual([["a=1", "b=2"], null]);
    expect(paths).toEqual(["/api/v1/targets"]);
  });

  it("is of its own for health, metrics and a reload, whatever the active process does", async () => {
    const { get } = await serveStandby(null);
    const reload = { status: 400, text: "its own file has a fault\n" };
    expect(await get("/-/reload", { method: "POST" })).toMatchObject(reload);
    expect(await get("/-/ready")).toMatchObject({ text: "ready: this process stands by\n" });
    expect(await get("/metrics")).toMatchObject({ status: 200, text: "own 1\n" });
  });

  it.each<[what: string, active: () => Promise<string | null>, why: string]>([
    ["nobody is active", async () => null, "This process stands by."],
    [
      "the active process listens no more",
      async () => {
        const { baseUrl, server } = await startPeer(() => {});
        server.close();
        return baseUrl;
      },
      "The active process does not answer.",
    ],
    [
      "the active process ends before it answers",
      async () => (await startPeer(({ socket }) => socket.destroy())).baseUrl,
      "The active process does not answer.",
    ],
    [
      "what answers at the address does not speak HTTP",
      async () => startTcpPeer((socket) => socket.end("SSH-2.0-OpenSSH\r\n")),
      "The active process does not answer.",
    ],
  ])("is 503 with who was active when %s", async (_, active, why) => {
    const { get, errors } = await serveStandby(await active());
    for (const method of ["GET", "POST"]) {
      const { status, headers, text: answer } = await get("/api/v1/targets", { method });
      expect([status, headers.get("retry-after")]).toEqual([503, "15"]);
      expect(JSON.parse(answer).detail).toBe(`${why} ${text}`);
    }
    expect(errors).toEqual([]);
  });

  it("is 503 where processes take each other for the active one", async () => {
    let first = "";
    const active = () => ({ address: first, text, retryAfterMs: 15_000 });
    const second = await serveStandby(null, { active });
    first = (await serveStandby(second.address)).address;
    const { status, text: answer } = await second.get("/");
    expect([status, answer]).toEqual([503, expect.stringContaining("took it for the active one")]);
  });
});
