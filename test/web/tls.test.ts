import { once } from "node:events";
import { rmSync, utimesSync, writeFileSync } from "node:fs";
import { connect as connectPlain } from "node:net";
import { join } from "node:path";
import { connect } from "node:tls";
import { describe, expect, it, onTestFinished } from "vitest";
import { ApiUnavailableError, createApiClient } from "../../src/api/client.ts";
import { listDrift } from "../../src/api/operations/drift.ts";
import { Secret } from "../../src/lib/secret.ts";
import { cert, key } from "../support/self-signed.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { serveWeb } from "./support/serve-web.ts";

function files(client = false) {
  const folder = tempFolder();
  const certificateFile = join(folder, "tls.crt");
  const keyFile = join(folder, "tls.key");
  writeFileSync(certificateFile, cert);
  writeFileSync(keyFile, key);
  const clientCaFile = client ? certificateFile : null;
  return { certificateFile, keyFile, clientCaFile, minimumVersion: "1.2" } as const;
}

const api = {
  call: () => Promise.resolve({ drift: [] }),
  events: () => Promise.reject(new Error("no events")),
};

/** Whether a handshake succeeds. */
function handshake(address: string, options: object): Promise<boolean> {
  const { port } = new URL(address);
  const trusting = { host: "127.0.0.1", port: Number(port), ca: cert, servername: "localhost" };
  return new Promise((resolve) => {
    const socket = connect({ ...trusting, ...options });
    const end = (isOk: boolean): void => {
      socket.destroy();
      resolve(isOk);
    };
    // With TLS 1.3 a server refuses a client's certificate after the client's handshake.
    socket.once("secureConnect", () =>
      socket.write("GET /-/ready HTTP/1.1\r\nhost: localhost\r\n\r\n"),
    );
    socket.once("data", () => end(true));
    socket.once("error", () => end(false));
    socket.once("close", () => end(false));
  });
}

describe("a server with TLS", () => {
  it("is called by commands that trust its certificate, and by no others", async () => {
    const tls = files();
    const { address } = await serveWeb({ tls, api });
    expect(address).toMatch(/^https:/);
    const { certificateFile } = tls;
    const token = new Secret("of no use here");
    const trusting = createApiClient(address, { certificateFile, token });
    expect(await trusting(listDrift, {})).toEqual({ drift: [] });
  });

  it("is called in vain without its certificate or its encryption, and it is said why", async () => {
    const { address } = await serveWeb({ tls: files() });
    const call = (at: string) => createApiClient(at)(listDrift, {});
    await expect(call(address)).rejects.toThrow(ApiUnavailableError);
    await expect(call(address)).rejects.toThrow(
      /does not trust \(DEPTH_ZERO_SELF_SIGNED_CERT\).*NODE_EXTRA_CA/,
    );
    const plain = await serveWeb({});
    const encrypted = plain.address.replace("http:", "https:");
    await expect(call(encrypted)).rejects.toThrow(/over TLS \(EPROTO\)/);
    const unencrypted = address.replace("https:", "http:");
    await expect(call(unencrypted)).rejects.toThrow(/If it has http.tls, its address begins with/);
  });

  it.each([
    ["AES128-GCM-SHA256", false],
    ["AES256-SHA", false],
    ["ECDHE-RSA-AES128-SHA256", false],
    ["DHE-RSA-AES128-GCM-SHA256", false],
    ["ECDHE-ECDSA-AES128-SHA256", false],
    ["ECDHE-ECDSA-AES256-SHA", false],
    ["ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256", true],
    ["ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305", true],
  ])("accepts %s in TLS 1.2: %s", async (ciphers, isAccepted) => {
    const { address } = await serveWeb({ tls: files() });
    const options = { maxVersion: "TLSv1.2", ciphers: `${ciphers}:@SECLEVEL=0` };
    expect(await handshake(address, options)).toBe(isAccepted);
  });

  it("speaks TLS 1.3", async () => {
    const { address } = await serveWeb({ tls: files() });
    expect(await handshake(address, { minVersion: "TLSv1.3" })).toBe(true);
  });

  it("has browsers not come without encryption again, and one without TLS does not", async () => {
    const { address } = await serveWeb({ tls: files() });
    const { port } = new URL(address);
    const answers: string[] = [];
    for (const request of ["GET /-/healthy", "GET /metrics", "GET /nothing", "nonsense"]) {
      const socket = connect({
        port: Number(port),
        host: "127.0.0.1",
        ca: cert,
        servername: "localhost",
      });
      onTestFinished(() => void socket.destroy());
      socket.write(`${request} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`);
      answers.push(String(Buffer.concat(await socket.toArray())));
    }
    for (const answer of answers) {
      expect(answer).toMatch(/^strict-transport-security: max-age=31536000\r$/im);
    }
    const plain = await serveWeb();
    expect((await plain.get("/")).headers.has("strict-transport-security")).toBe(false);
  });

  it("refuses versions below the lowest one", async () => {
    const { address } = await serveWeb({ tls: { ...files(), minimumVersion: "1.3" } });
    expect(await handshake(address, { maxVersion: "TLSv1.2" })).toBe(false);
    expect(await handshake(address, {})).toBe(true);
  });

  it("refuses clients without a certificate where authorities of clients are configured", async () => {
    const { address } = await serveWeb({ tls: files(true), api });
    expect(await handshake(address, {})).toBe(false);
    expect(await handshake(address, { cert, key })).toBe(true);

    const { certificateFile } = files();
    const clientCertificate = new Secret(cert + key);
    const call = createApiClient(address, { certificateFile, clientCertificate });
    expect(await call(listDrift, {})).toEqual({ drift: [] });
    const without = createApiClient(address, { certificateFile });
    await expect(without(listDrift, {})).rejects.toThrow(ApiUnavailableError);
  });

  it("keeps a connection with a request in progress when there are too many", async () => {
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    const onFull = Promise.withResolvers<number>();
    const { address } = await serveWeb({
      tls: files(),
      connectionsAllowed: 1,
      onFull: onFull.resolve,
      async readiness() {
        asked.resolve();
        await answer.promise;
        return { ready: true };
      },
    });
    const first = handshake(address, {});
    await asked.promise;
    expect(await handshake(address, {})).toBe(false);
    expect(await onFull.promise).toBe(1);
    answer.resolve();
    expect(await first).toBe(true);
  });

  it("is open to others while many connections do not begin a handshake", async () => {
    const { address } = await serveWeb({ tls: files(), connectionsAllowed: 2 });
    const { port } = new URL(address);
    const silent = Array.from({ length: 6 }, () => connectPlain(Number(port), "127.0.0.1"));
    onTestFinished(() => silent.forEach((socket) => socket.destroy()));
    const closed = silent.slice(0, 4).map((socket) => once(socket.resume(), "close"));
    await Promise.all(closed);
    expect(await handshake(address, {})).toBe(true);
    expect(silent.map((socket) => socket.closed)).toEqual([...Array(5).fill(true), false]);
  });

  it("reads changed files again, and keeps its certificate while they cannot be used", async () => {
    const tls = files();
    const { clock, logged } = await serveWeb({ tls });
    clock.advance(60_000);
    expect(logged).toEqual([]);
    rmSync(tls.keyFile);
    clock.advance(60_000);
    expect(logged).toEqual([expect.objectContaining({ event: "http.certificate_unusable" })]);
    writeFileSync(tls.keyFile, key);
    utimesSync(tls.keyFile, 1, 1);
    clock.advance(60_000);
    expect(logged.at(-1)).toEqual({ event: "http.certificate_renewed" });
  });
});

it("sends no token over http to another machine", async () => {
  const client = createApiClient("http://sandwatch.example.com", { token: new Secret("secret") });
  await expect(client(listDrift, {})).rejects.toThrow(/would not be encrypted/);
});
