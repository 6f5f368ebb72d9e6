import { once } from "node:events";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { Writable } from "node:stream";
import { gunzipSync, zstdDecompressSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { longestScrapeMs, mostScrapes } from "../../src/web/scrape-route.ts";
import type { ScrapeSource } from "../../src/web/scrape-route.ts";
import { sendPieces } from "../../src/web/send-pieces.ts";
import { createWebServer } from "../../src/web/server.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { exposing } from "./support/exposing.ts";
import { emptyStatus } from "./support/status-view.ts";

const pieceBytes = 64 * 1_024;

async function serve(metrics: ScrapeSource) {
  const clock = createFakeClock();
  const errors: string[] = [];
  let slow = 0;
  const web = createWebServer({
    metrics,
    clock,
    readiness: () => Promise.resolve({ ready: true }),
    status: () => Promise.resolve(emptyStatus),
    onError: (error) => errors.push(error.message),
    onSlowScrape: () => (slow += 1),
  });
  const address = await web.listen({ host: "127.0.0.1", port: 0 });
  onTestFinished(() => web.close());
  return { web, address, clock, errors, slowScrapes: () => slow };
}

/** Pieces without end: whoever does not hold them back never gets further. */
function endless() {
  let pieces = 0;
  const ended: (() => void)[] = [];
  const source = exposing(() => Promise.resolve(texts()));
  function* texts(): Iterable<string> {
    try {
      for (;;) {
        pieces += 1;
        yield "x".repeat(pieceBytes);
      }
    } finally {
      ended.shift()?.();
    }
  }
  return {
    source,
    pieces: () => pieces,
    /** The next time that one of them was ended. */
    ended: () => new Promise<void>((resolve) => ended.push(resolve)),
  };
}

/** A scraper that reads nothing more than it is made to. */
async function scraper(address: string, more = ""): Promise<Socket> {
  const socket = connect(Number(new URL(address).port), "127.0.0.1");
  socket.on("error", () => {});
  onTestFinished(() => void socket.destroy());
  socket.write(`GET /metrics HTTP/1.1\r\nhost: x\r\n${more}\r\n`);
  await once(socket, "readable");
  return socket;
}

describe("a request", () => {
  const asked: Parameters<ScrapeSource["scrape"]>[0][] = [];
  const source: ScrapeSource = {
    scrape(request) {
      asked.push(request);
      return Promise.resolve({ kind: "exposition", pieces: [Buffer.from("a 1\n")] });
    },
  };

  it("is answered in the format that it asks for", async () => {
    const { address } = await serve(source);
    const accept = "application/openmetrics-text;version=1.0.0";
    const response = await fetch(`${address}/metrics`, { headers: { accept } });
    expect(asked.at(-1)).toEqual({ syntax: "openmetrics", collect: [] });
    expect(response.headers.get("content-type")).toBe(
      "application/openmetrics-text; version=1.0.0; charset=utf-8",
    );
    expect(response.headers.get("vary")).toBe("accept, accept-encoding");
  });

  it.each([
    ["collect[]=a_total&collect[]=b", ["a_total", "b"]],
    ["collect%5B%5D=a_total&x=1&collect%5b%5d=b+%22", ["a_total", 'b "']],
    ["collect=a&x[]=b", []],
    ["collect[]=", [""]],
    ["collect[]=a?b", ["a?b"]],
  ])("with %s is for these families", async (query, collect) => {
    const { address } = await serve(source);
    await fetch(`${address}/metrics?${query}`);
    expect(asked.at(-1)).toEqual({ syntax: "text", collect });
  });

  it("for what there is not is told so", async () => {
    const { address } = await serve({
      scrape: () => Promise.resolve({ kind: "refused", reason: 'there is no "a"' }),
    });
    for (const method of ["GET", "HEAD"]) {
      const response = await fetch(`${address}/metrics?collect[]=a`, { method });
      expect(response.status).toBe(400);
      expect(await response.text()).toBe(method === "GET" ? 'there is no "a"\n' : "");
    }
  });

  it("for the head alone renders nothing", async () => {
    const { source: untouched, pieces } = endless();
    const { address, clock } = await serve(untouched);
    const { status, headers } = await fetch(`${address}/metrics`, { method: "HEAD" });
    expect([status, headers.get("content-length"), pieces()]).toEqual([200, null, 0]);
    expect(clock.armed).toBe(0);
  });
});

describe("compression", () => {
  const lines = Array.from({ length: 400 }, (_, piece) => `piece ${piece} "沙箱"\n`.repeat(500));
  const raw = async (acceptEncoding: string) => {
    const { address } = await serve(exposing(() => Promise.resolve(lines)));
    const more = `accept-encoding: ${acceptEncoding}\r\nconnection: close\r\n`;
    const socket = await scraper(address, more);
    const chunks: Buffer[] = [];
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    await once(socket, "close");
    const answer = Buffer.concat(chunks);
    const end = answer.indexOf("\r\n\r\n");
    return { head: answer.subarray(0, end).toString(), body: unchunk(answer.subarray(end + 4)) };
  };

  it.each([
    ["gzip", gunzipSync],
    ["zstd", zstdDecompressSync],
  ])("as %s gives the same text in fewer bytes", async (encoding, unpack) => {
    const { head, body } = await raw(encoding);
    expect(head).toContain(`content-encoding: ${encoding}`);
    expect(unpack(body).toString()).toBe(lines.join(""));
    expect(body.length).toBeLessThan(lines.join("").length / 10);
  });

  it("is none where it is refused", async () => {
    const { head, body } = await raw("gzip;q=0");
    expect(head).not.toContain("content-encoding");
    expect(body.toString()).toBe(lines.join(""));
  });

  it.each(["gzip", "zstd"])("as %s breaks off with what is rendered", async (encoding) => {
    const source = exposing(() => Promise.resolve(breaking()));
    const { address, errors, clock } = await serve(source);
    const headers = { "accept-encoding": encoding };
    await expect(
      fetch(`${address}/metrics`, { headers }).then((response) => response.text()),
    ).rejects.toThrow("terminated");
    expect(errors).toEqual(["broken while rendering"]);
    expect(clock.armed).toBe(0);
  });
});

describe("a slow reader", () => {
  it("holds the producer: one piece is on its way, and none is made beyond it", async () => {
    const { source, pieces } = endless();
    const scrape = await source.scrape({ syntax: "text", collect: [] });
    if (scrape.kind !== "exposition") throw new TypeError("must be an exposition");
    const iterator = scrape.pieces[Symbol.iterator]();
    const taken: (() => void)[] = [];
    let written = (): void => {};
    const response = new Writable({
      write(_chunk, _encoding, callback) {
        taken.push(callback);
        written();
      },
    });
    const sending = sendPieces(iterator.next(), iterator, { response, compressor: null });
    for (let piece = 1; piece <= 3; piece += 1) {
      if (taken.length < piece) await new Promise<void>((resolve) => (written = resolve));
      expect(pieces()).toBe(piece);
      taken.at(-1)?.();
    }
    response.destroy();
    expect(await sending).toBe(false);
    expect(pieces()).toBeLessThanOrEqual(4);
  });

  it.each(["identity", "gzip", "zstd"])(
    "that leaves in the middle ends the producer (%s)",
    async (encoding) => {
      const { source, ended } = endless();
      const { address, errors, clock, slowScrapes } = await serve(source);
      const end = ended();
      const socket = await scraper(address, `accept-encoding: ${encoding}\r\n`);
      expect(clock.armed).toBe(1);
      socket.destroy();
      await end;
      expect([errors, slowScrapes()]).toEqual([[], 0]);
    },
  );

  it("that leaves with a second request waiting behind the first ends both", async () => {
    const { source, ended } = endless();
    const { address, clock } = await serve(source);
    const ends = Promise.all([ended(), ended()]);
    const socket = await scraper(address, "\r\nGET /metrics HTTP/1.1\r\nhost: x\r\n");
    if (clock.armed < 2) await fetch(`${address}/-/healthy`);
    expect(clock.armed).toBe(2);
    socket.destroy();
    await ends;
    await fetch(`${address}/-/healthy`);
    expect(clock.armed).toBe(0);
  });

  it("is cut off after a minute, and that is told", async () => {
    const { source, ended } = endless();
    const { address, clock, errors, slowScrapes } = await serve(source);
    const end = ended();
    const socket = await scraper(address);
    clock.advance(longestScrapeMs - 1);
    expect(slowScrapes()).toBe(0);
    clock.advance(1);
    socket.resume();
    await Promise.all([end, once(socket, "close")]);
    expect([slowScrapes(), errors, clock.armed]).toEqual([1, [], 0]);
  });

  it("that got it all in time is not cut off", async () => {
    const { address, clock, slowScrapes } = await serve(exposing(() => Promise.resolve(["a 1\n"])));
    await fetch(`${address}/metrics`).then((response) => response.text());
    clock.advance(longestScrapeMs);
    expect([clock.armed, slowScrapes()]).toEqual([0, 0]);
  });
});

describe("many scrapers at once", () => {
  it("are refused past the eighth until one is done", async () => {
    const { source, ended } = endless();
    const { address } = await serve(source);
    const sockets = await Promise.all(Array.from({ length: mostScrapes }, () => scraper(address)));
    const refused = await fetch(`${address}/metrics`);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
    expect(await refused.text()).toBe("8 scrapes are being answered already; try again later\n");
    expect((await fetch(`${address}/-/healthy`)).status).toBe(200);

    const end = ended();
    sockets[0]?.destroy();
    await end;
    const next = await scraper(address);
    expect(String(next.read(15))).toBe("HTTP/1.1 200 OK");
  });

  it("take the place of one that has not read for five seconds", async () => {
    // More than the connection takes while nobody reads.
    const piece = "x".repeat(16 * 2 ** 20);
    const { address, clock, slowScrapes } = await serve(exposing(() => Promise.resolve([piece])));
    await Promise.all(Array.from({ length: mostScrapes }, () => scraper(address)));
    clock.advance(5_000);
    const next = await scraper(address);
    expect([String(next.read(15)), slowScrapes()]).toEqual(["HTTP/1.1 200 OK", 1]);
  });

  it("leave room again also when they were refused or failed", async () => {
    const scrapes = [
      () => Promise.reject(new Error("disk")),
      () => Promise.resolve({ kind: "refused", reason: "no" } as const),
    ];
    let turn = 0;
    const { address } = await serve({ scrape: () => scrapes[turn++ % 2]?.() ?? never() });
    const statuses: number[] = [];
    for (let index = 0; index < mostScrapes * 2 + 2; index += 1) {
      statuses.push((await fetch(`${address}/metrics`)).status);
    }
    expect(new Set(statuses)).toEqual(new Set([500, 400]));
  });
});

function never(): never {
  throw new Error("there is always one");
}

function* breaking(): Iterable<string> {
  for (let piece = 0; piece < 100; piece += 1) yield "x".repeat(pieceBytes);
  throw new Error("broken while rendering");
}

/** The body of chunked transfer. */
function unchunk(body: Buffer): Buffer {
  const chunks: Buffer[] = [];
  for (let at = 0; at < body.length;) {
    const lineEnd = body.indexOf("\r\n", at);
    const length = Number.parseInt(body.subarray(at, lineEnd).toString(), 16);
    chunks.push(body.subarray(lineEnd + 2, lineEnd + 2 + length));
    at = lineEnd + 2 + length + 2;
  }
  return Buffer.concat(chunks);
}
