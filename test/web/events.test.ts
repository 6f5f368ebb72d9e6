import { once } from "node:events";
import { get } from "node:http";
import type { IncomingMessage } from "node:http";
import { setImmediate } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { RefusedError } from "../../src/lib/refusal.ts";
import type { EventSource } from "../../src/web/api/events-route.ts";
import { createWebServer } from "../../src/web/server.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { exposing } from "./support/exposing.ts";
import { noApi } from "./support/no-api.ts";
import { emptyStatus } from "./support/status-view.ts";

/** A server whose events are numbers; places are how many there were. */
async function serve(wrap: (source: EventSource) => EventSource = (source) => source) {
  const clock = createFakeClock();
  const errors: string[] = [];
  const asked: object[] = [];
  let happened = 0;
  const atOnce = 3;
  const source: EventSource = (query) => {
    asked.push(query);
    const from = "after" in query ? Number(query.after) : happened;
    if (Number.isNaN(from)) throw new RefusedError("invalid", "no such place");
    const to = Math.min(happened, from + atOnce);
    const events = Array.from({ length: to - from }, (_, index) => {
      return { kind: "change", view: { number: from + index + 1 } };
    });
    return Promise.resolve({ events, after: String(to), hasMore: events.length === atOnce });
  };
  const web = createWebServer({
    metrics: exposing(() => Promise.resolve([])),
    clock,
    readiness: () => Promise.resolve({ ready: true }),
    status: () => Promise.resolve(emptyStatus),
    api: { ...noApi, events: wrap(source) },
    onError: (error) => errors.push(error.message),
  });
  const address = await web.listen({ host: "127.0.0.1", port: 0 });
  onTestFinished(() => web.close());

  const open = async (path = "/events", headers: Readonly<Record<string, string>> = {}) => {
    const request = get(`${address}/api/v1${path}`, { headers });
    request.on("error", () => {});
    const [response]: IncomingMessage[] = await once(request, "response");
    if (!response) throw new Error("there was no response");
    onTestFinished(() => void response.destroy());
    return response;
  };
  return {
    web,
    clock,
    errors,
    asked,
    open,
    happen: (count = 1) => void (happened += count),
    pass: async (ms: number) => {
      await until(() => clock.armed === 1);
      clock.advance(ms);
      await until(() => clock.armed === 1);
    },
  };
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await setImmediate();
}

/** Reads on until that text has come. */
async function readTo(response: IncomingMessage, end: string): Promise<string> {
  let text = "";
  while (!text.endsWith(end)) {
    const chunk: unknown = response.read();
    if (chunk === null) await once(response, "readable");
    else if (Buffer.isBuffer(chunk)) text += chunk.toString();
  }
  return text;
}

const numbered = (from: number, to: number, place: number): string => {
  const blocks = Array.from(
    { length: to - from + 1 },
    (_, index) => `event: change\ndata: {"number":${from + index}}\n`,
  );
  return `${blocks.join("\n")}id: ${place}\n\n`;
};

describe("the stream of events", () => {
  it("tells where it begins, and then what happens, within a second", async () => {
    const { open, happen, pass } = await serve();
    happen(7);
    const response = await open();
    expect(response.statusCode).toBe(200);
    expect(response.headers).toMatchObject({
      "content-type": "text/event-stream",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
    });
    expect(await readTo(response, "id: 7\n\n")).toBe("retry: 2000\n\nid: 7\n\n");
    happen(2);
    await pass(1_000);
    expect(await readTo(response, "id: 9\n\n")).toBe(numbered(8, 9, 9));
  });

  it("goes on after the last event that was heard, all that came meanwhile at once", async () => {
    const { open, happen } = await serve();
    happen(8);
    const response = await open("/events?kind=change", { "last-event-id": "2" });
    expect(await readTo(response, "id: 8\n\n")).toBe(
      `retry: 2000\n\n${numbered(3, 5, 5)}${numbered(6, 8, 8)}`,
    );
  });

  it("goes on where it was heard last, wherever its address says that it began", async () => {
    const { open, happen } = await serve();
    happen(8);
    const first = await open("/events?after=6");
    expect(await readTo(first, "id: 8\n\n")).toBe(`retry: 2000\n\n${numbered(7, 8, 8)}`);
    const again = await open("/events?after=6", { "last-event-id": "7" });
    expect(await readTo(again, "id: 8\n\n")).toBe(`retry: 2000\n\n${numbered(8, 8, 8)}`);
  });

  it("tells its place now and then where nothing happens", async () => {
    const { open, pass } = await serve();
    const response = await open();
    await readTo(response, "id: 0\n\n");
    for (let second = 1; second < 15; second += 1) await pass(1_000);
    expect(response.read()).toBeNull();
    await pass(1_000);
    expect(await readTo(response, "\n\n")).toBe("id: 0\n\n");
  });

  it("looks no further for a reader who does not read, nor for one who has gone", async () => {
    const endless: EventSource = (query) => {
      looks += 1;
      const place = "after" in query ? Number(query.after) : 0;
      const events = [{ kind: "change", view: { text: "x".repeat(1_000_000) } }];
      return Promise.resolve({ events, after: String(place + 1), hasMore: true });
    };
    let looks = 0;
    const { open, clock } = await serve(() => endless);
    const response = await open();
    let before = -1;
    // What the system keeps of a connection is soon full.
    for (let quiet = 0; quiet < 1_000; quiet = looks === before ? quiet + 1 : 0) {
      before = looks;
      await setImmediate();
    }
    expect(looks).toBeLessThan(100);
    response.destroy();
    await until(() => clock.armed === 0);
  });

  it("lets others have their turn between any two looks, however much there is", async () => {
    let looks = 0;
    const { open } = await serve(() => () => {
      looks += 1;
      const events = [{ kind: "change", view: {} }];
      return Promise.resolve({ events, after: String(looks), hasMore: looks < 50 });
    });
    let most = 0;
    let before = 0;
    const opened = open();
    await until(() => {
      most = Math.max(most, looks - before);
      before = looks;
      return looks === 50;
    });
    (await opened).resume();
    expect(most).toBeLessThanOrEqual(2);
  });

  it("leaves nothing behind when its reader goes", async () => {
    const { open, asked, clock } = await serve();
    const response = await open();
    await until(() => clock.armed === 1);
    response.destroy();
    await until(() => clock.armed === 0);
    clock.advance(60_000);
    expect(asked).toHaveLength(1);
  });

  it("ends where it cannot go on, which is told", async () => {
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

  it("is refused to a page of another site, and with what is no place", async () => {
    const { open, asked } = await serve();
    const foreign = await open("/events", { "sec-fetch-site": "cross-site" });
    expect([foreign.statusCode, asked]).toEqual([403, []]);
    const wrong = await open("/events?after=x");
    expect(wrong.statusCode).toBe(400);
    expect(wrong.headers["content-type"]).toBe("application/problem+json");
  });

  it("is there for so many; who has not read for a minute gives way", async () => {
    const { open, clock } = await serve();
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
