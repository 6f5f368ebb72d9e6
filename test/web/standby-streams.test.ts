import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { connect } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { startPeer } from "../service/peer.ts";
import { sendRaw } from "./support/send-raw.ts";
import { serveStandby } from "./support/serve-standby.ts";

/** Resolves with the next response whose head and beginning were sent. */
async function startDrip() {
  const begun: ServerResponse[] = [];
  const { baseUrl, server } = await startPeer((_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("id: 1\n\n");
    begun.push(response);
  });
  return { baseUrl, server, begun };
}

const read = async (response: Response) => {
  const reader = response.body?.getReader();
  if (!reader) throw new TypeError("no body");
  return { reader, first: new TextDecoder().decode((await reader.read()).value) };
};

describe("a stream through a standby", () => {
  it("breaks off where the active process does, and then says that it does not answer", async () => {
    const { baseUrl, server, begun } = await startDrip();
    const { address, get, errors } = await serveStandby(baseUrl);
    const { reader, first } = await read(await fetch(`${address}/api/v1/events`));
    expect(first).toBe("id: 1\n\n");
    server.close();
    server.closeAllConnections();
    await expect(reader.read()).rejects.toThrow("terminated");
    expect(begun).toHaveLength(1);
    expect((await get("/")).status).toBe(503);
    expect(errors).toEqual([]);
  });

  it("passes each event at once, and ends at the active process when its reader leaves", async () => {
    const { baseUrl, begun } = await startDrip();
    const { address } = await serveStandby(baseUrl);
    const { reader } = await read(await fetch(`${address}/api/v1/events`));
    const [response] = begun;
    response?.write("id: 2\n\n");
    expect(new TextDecoder().decode((await reader.read()).value)).toBe("id: 2\n\n");
    if (!response) throw new TypeError("no stream");
    const closed = once(response, "close");
    await reader.cancel();
    await closed;
  });

  it("ends when the standby does, which waits for no reader", async () => {
    const { baseUrl, begun } = await startDrip();
    const { standby, address } = await serveStandby(baseUrl);
    const { reader } = await read(await fetch(`${address}/api/v1/events`));
    const [response] = begun;
    if (!response) throw new TypeError("no stream");
    const closed = once(response, "close");
    await standby.close();
    await expect(reader.read()).rejects.toThrow("terminated");
    await closed;
  });

  it("is read from the active process only as its reader reads", async () => {
    const part = Buffer.alloc(1_000_000);
    let sent = 0;
    const { baseUrl } = await startPeer((_, response) => {
      const send = (): void => {
        while (sent < 200 && response.write(part)) sent += 1;
        if (sent < 200) response.once("drain", send);
      };
      send();
    });
    const { address } = await serveStandby(baseUrl);
    const socket = connect(Number(new URL(address).port), "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    socket.write("GET /api/v1/report HTTP/1.1\r\nhost: localhost\r\n\r\n");
    await once(socket, "readable");
    let before = -1;
    await expect
      .poll(() => [before, (before = sent)].reduce((one, other) => other - one), { interval: 200 })
      .toBe(0);
    expect(sent).toBeLessThan(100);
  });

  it("ends at the active process, too, when its caller leaves before an answer", async () => {
    const asked = Promise.withResolvers<ServerResponse>();
    const { baseUrl } = await startPeer((_, response) => asked.resolve(response));
    const { address } = await serveStandby(baseUrl);
    const leave = new AbortController();
    const answer = fetch(address, { signal: leave.signal }).catch(() => "left");
    const closed = once(await asked.promise, "close");
    leave.abort();
    expect(await answer).toBe("left");
    await closed;
  });

  it("of a request that does not arrive in time ends at the active process, too", async () => {
    const ended = Promise.withResolvers<void>();
    const { baseUrl } = await startPeer((request) => {
      request.resume();
      request.once("close", ended.resolve);
    });
    const { address } = await serveStandby(baseUrl, { requestTimeoutMs: 500 });
    const head = "POST /x HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\n\r\n";
    expect((await sendRaw(address, `${head}abc`)).status).toBe(408);
    await ended.promise;
  });
});
