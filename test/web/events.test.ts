import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { setImmediate } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { RefusedError } from "../../src/lib/refused-error.ts";
import type { EventSource } from "../../src/web/api/events-route.ts";
import { serveWeb } from "./support/serve-web.ts";

/** A server whose events are numbers; a cursor is how many there were. */
async function serve(
  wrap: (source: EventSource) => EventSource = (source) => source,
  connectionsAllowed = 1_000,
) {
  const asked: object[] = [];
  let happened = 0;
  const atOnce = 3;
  const source: EventSource = (query) => {
    asked.push(query);
    const from = "after" in query ? Number(query.after) : happened;
    if (Number.isNaN(from)) throw new RefusedError("invalid", "no such cursor");
    const to = Math.min(happened, from + atOnce);
    const events = Array.from({ length: to - from }, (_, index) => {
      return { kind: "change", view: { number: from + index + 1 } };
    });
    return Promise.resolve({ events, after: String(to), hasMore: events.length === atOnce });
  };
  const { address, clock, errors } = await serveWeb({
    api: { call: () => Promise.reject(new Error("not called")), events: wrap(source) },
    connectionsAllowed,
  });
  const open = async (path = "/events", headers: Readonly<Record<string, string>> = {}) => {
    const request = get(`${address}/api/v1${path}`, { headers });
    request.on("error", () => {});
    const [response]: IncomingMessage[] = await once(request, "response");
    if (!response) throw new Error("there was no response");
    onTestFinished(() => void response.destroy());
    return response;
  };
  const pass = async (ms: number) => {
    await until(() => clock.armed === 1);
    clock.advance(ms);
    await until(() => clock.armed === 1);
  };
  const happen = (count: number) => void (happened += count);
  return { clock, errors, asked, open, pass, happen };
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await setImmediate();
}

async function readTo(response: IncomingMessage, end: string): Promise<string> {
  let text = "";
  while (!text.endsWith(end)) {
    const chunk: unknown = response.read();
    if (chunk === null) await once(response, "readable");
    else if (Buffer.isBuffer(chunk)) text += chunk.toString();
  }
  return text;
}

function numbered(from: number, to: number): string {
  const blocks = Array.from(
    { length: to - from + 1 },
    (_, index) => `event: change\ndata: {"number":${from + index}}\n`,
  );
  return `${blocks.join("\n")}id: ${to}\n\n`;
}

describe("the stream of events", () => {
  it("sends where it begins, and then what happens, within a second", async () => {
    const { open, happen, pass } = await serve();
    happen(7);
    const response = await open();
    expect(response.headers).toMatchObject({
      "content-type": "text/event-stream",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
    });
    expect(await readTo(response, "id: 7\n\n")).toBe("retry: 2000\n\nid: 7\n\n");
    happen(2);
    await pass(1_000);
    expect(await readTo(response, "id: 9\n\n")).toBe(numbered(8, 9));
  });

  it("continues after the last event that was received, before the `after` of its address", async () => {
    const { open, happen } = await serve();
    happen(8);
    const first = await open("/events?after=6");
    expect(await readTo(first, "id: 8\n\n")).toBe(`retry: 2000\n\n${numbered(7, 8)}`);
    const again = await open("/events?after=6", { "last-event-id": "2" });
    const all = `${numbered(3, 5)}${numbered(6, 8)}`;
    expect(await readTo(again, "id: 8\n\n")).toBe(`retry: 2000\n\n${all}`);
  });

  it("sends its cursor every 15 seconds if nothing happens", async () => {
    const { open, pass } = await serve();
    const response = await open();
    await readTo(response, "id: 0\n\n");
    for (let second = 1; second < 15; second += 1) await pass(1_000);
    expect(response.read()).toBeNull();
    await pass(1_000);
    expect(await readTo(response, "\n\n")).toBe("id: 0\n\n");
  });

  it("reads no further for a reader that does not read or has gone", async () => {
    let queries = 0;
    const endless: EventSource = () => {
      queries += 1;
      const events = [{ kind: "change", view: { text: "x".repeat(1_000_000) } }];
      return Promise.resolve({ events, after: String(queries), hasMore: true });
    };
    const { open, clock } = await serve(() => endless);
    const response = await open();
    let before = -1;
    // What the system holds of a connection is soon full.
    for (let quiet = 0; quiet < 1_000; quiet = queries === before ? quiet + 1 : 0) {
      before = queries;
      await setImmediate();
    }
    expect(queries).toBeLessThan(100);
    response.destroy();
    await until(() => clock.armed === 0);
  });

  it("ends with a report if the store cannot be read", async () => {
    let isBroken = false;
    const { open, errors, clock } = await serve((source) => (query) => {
      if (isBroken) throw new Error("the store is gone");
      return source(query);
    });
    const response = await open();
    await until(() => clock.armed === 1);
    isBroken = true;
    clock.advance(1_000);
    response.resume();
    await once(response, "end");
    expect(errors).toEqual(["the store is gone"]);
  });

  it("reads for all streams at once what is the same for them", async () => {
    const { open, asked, happen, clock } = await serve();
    const streams = [await open(), await open(), await open()];
    for (const stream of streams) await readTo(stream, "id: 0\n\n");
    happen(1);
    await until(() => clock.armed === 3);
    clock.advance(1_000);
    for (const stream of streams) await readTo(stream, "id: 1\n\n");
    expect(asked).toEqual([{}, { after: "0" }]);
  });

  it("is refused to a page of another site, and with an unknown cursor", async () => {
    const { open, asked } = await serve();
    const foreign = await open("/events", { "sec-fetch-site": "cross-site" });
    expect([foreign.statusCode, asked]).toEqual([403, []]);
    const wrong = await open("/events?after=x");
    expect(wrong.statusCode).toBe(400);
    expect(wrong.headers["content-type"]).toBe("application/problem+json");
  });

  it("is open to half as many readers as there may be connections; one that has not read for a minute is replaced", async () => {
    const { open, clock } = await serve((source) => source, 128);
    const first = await open();
    for (let other = 1; other < 64; other += 1) await open();
    const refused = await open();
    expect([refused.statusCode, refused.headers["retry-after"]]).toEqual([503, "60"]);
    await until(() => clock.armed === 64);
    clock.holdUp(60_000);
    const next = await open();
    expect(next.statusCode).toBe(200);
    first.resume();
    await expect(once(first, "end")).rejects.toThrow("aborted");
  });
});
