import { once } from "node:events";
import { connect } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { serveWeb } from "./support/serve-web.ts";

/** Sends bytes as they are. Gives the whole response. */
async function send(address: string, text: string): Promise<string> {
  const socket = connect(Number(new URL(address).port), "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.setEncoding("utf8").end(text);
  let received = "";
  socket.on("data", (chunk) => (received += String(chunk)));
  await once(socket, "close");
  return received;
}

const host = "host: localhost\r\nconnection: close\r\n";

describe("a request that is out of bounds", () => {
  it.each([
    ["headers that are too long", `x: ${"a".repeat(20_000)}\r\n`, 431],
    ["a Host of another site", "", 403, "host: evil.example.com\r\n"],
    ["two Hosts", "host: evil.example.com\r\n", 400],
    ["a header that goes on in another line", "x: a\r\n b\r\n", 400],
    ["a length and chunks", "content-length: 3\r\ntransfer-encoding: chunked\r\n", 400],
  ])("with %s is refused", async (_, headers, status, named = host) => {
    const { address } = await serveWeb();
    const response = await send(
      address,
      `GET /metrics HTTP/1.1\r\n${named}${headers}connection: close\r\n\r\n`,
    );
    expect(response).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  });

  it.each([
    "/../../etc/passwd",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/api/v1/../../-/reload",
    "//evil.example.com/",
  ])("for %s leads nowhere else", async (path) => {
    const { address } = await serveWeb();
    const response = await send(address, `GET ${path} HTTP/1.1\r\n${host}\r\n`);
    expect(response).toMatch(/^HTTP\/1.1 40[45] /);
  });

  it("never has its path or headers in a header of the response", async () => {
    const { address } = await serveWeb();
    const response = await send(
      address,
      `GET /x%0d%0aset-cookie:%20a=b HTTP/1.1\r\n${host}x-request-id: a%0d%0ab\r\n\r\n`,
    );
    expect(response).not.toMatch(/set-cookie/i);
    expect(response.split("\r\n\r\n")[0]).not.toContain("a=b");
  });
});
