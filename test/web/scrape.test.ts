import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { gunzipSync, zstdDecompressSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { openAccess } from "../../src/lib/access.ts";
import { Secret } from "../../src/lib/secret.ts";
import { longestScrapeMs, mostScrapes } from "../../src/web/scrape-route.ts";
import type { ScrapeSource } from "../../src/web/scrape-route.ts";
import { exposing, serveWeb } from "./support/serve-web.ts";

const pieceBytes = 64 * 1_024;

async function serve(metrics: ScrapeSource, settings = openAccess) {
  let slow = 0;
  const server = await serveWeb({ metrics, settings, onSlowScrape: () => (slow += 1) });
  return { ...server, slowScrapes: () => slow };
}

/** Pieces without end. */
function endless() {
  let pieces = 0;
  const ended: (() => void)[] = [];
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
    source: exposing(texts),
    pieces: () => pieces,
    /** The next time that one of them was ended. */
    ended: () => new Promise<void>((resolve) => ended.push(resolve)),
  };
}

function* failing(pieces: number): Iterable<string> {
  for (let piece = 0; piece < pieces; piece += 1) yield "x".repeat(pieceBytes);
  throw new Error("broken while rendering");
}

/** A scraper that reads only what a test makes it read. */
async function scraper(address: string, more = ""): Promise<Socket> {
  const socket = connect(Number(new URL(address).port), "127.0.0.1");
  socket.on("error", () => {});
  onTestFinished(() => void socket.destroy());
  socket.write(`GET /metrics HTTP/1.1\r\nhost: localhost\r\n${more}\r\n`);
  await once(socket, "readable");
  return socket;
}

describe("/metrics", () => {
  it("serves the exposition in the format that is preferred", async () => {
    const asked: Parameters<ScrapeSource["scrape"]>[0][] = [];
    const source = exposing(() => ["a 1\n", 'b "沙箱"\n']);
    const { get } = await serve({
      scrape(request) {
        asked.push(request);
        return source.scrape(request);
      },
    });
    const type = "text/plain; version=0.0.4; charset=utf-8";
    expect(await get("/metrics")).toMatchObject({ status: 200, type, text: 'a 1\nb "沙箱"\n' });
    expect(await get("/metrics", { method: "HEAD" })).toMatchObject({
      status: 200,
      type,
      text: "",
    });
    const accept = "application/openmetrics-text;version=1.0.0";
    const open = await get("/metrics?collect%5B%5D=a_total&x=1&collect[]=b+%22", {
      headers: { accept },
    });
    expect(open.type).toBe("application/openmetrics-text; version=1.0.0; charset=utf-8");
    expect(open.headers.get("vary")).toBe("accept, accept-encoding");
    expect(asked).toEqual([
      { syntax: "text", collect: [] },
      { syntax: "text", collect: [] },
      { syntax: "openmetrics", collect: ["a_total", 'b "'] },
    ]);
  });

  it("answers 500 without details if the first piece fails", async () => {
    const { get, errors } = await serve(exposing(() => failing(0)));
    const text = "internal error; see the log\n";
    expect(await get("/metrics")).toMatchObject({ status: 500, text });
    expect(errors).toEqual(["broken while rendering"]);
  });

  it.each(["identity", "gzip", "zstd"])(
    "breaks off if a later piece fails, so that nobody takes it for the whole (%s)",
    async (encoding) => {
      const { get, errors, clock } = await serve(exposing(() => failing(100)));
      const headers = { "accept-encoding": encoding };
      await expect(get("/metrics", { headers })).rejects.toThrow("terminated");
      expect(errors).toEqual(["broken while rendering"]);
      expect(clock.armed).toBe(0);
    },
  );

  it.each([
    ["gzip", gunzipSync],
    ["zstd", zstdDecompressSync],
  ])("compresses with %s", async (encoding, unpack) => {
    const lines = Array.from({ length: 400 }, (_, piece) => `piece ${piece} "沙箱"\n`.repeat(500));
    const { address } = await serve(exposing(() => lines));
    // HTTP/1.0 has no chunks.
    const socket = connect(Number(new URL(address).port), "127.0.0.1");
    socket.write(
      `GET /metrics HTTP/1.0\r\nhost: localhost\r\naccept-encoding: ${encoding}\r\n\r\n`,
    );
    const answer = Buffer.concat(await socket.toArray());
    const bodyStart = answer.indexOf("\r\n\r\n") + 4;
    expect(answer.subarray(0, bodyStart).toString()).toContain(`content-encoding: ${encoding}`);
    expect(unpack(answer.subarray(bodyStart)).toString()).toBe(lines.join(""));
    expect(answer.length).toBeLessThan(lines.join("").length / 10);
  });
});

describe("a slow reader", () => {
  it.each(["identity", "gzip", "zstd"])("that leaves ends the producer (%s)", async (encoding) => {
    const { source, ended } = endless();
    const { address, errors, clock, slowScrapes } = await serve(source);
    const end = ended();
    const socket = await scraper(address, `accept-encoding: ${encoding}\r\n`);
    expect(clock.armed).toBe(1);
    socket.destroy();
    await end;
    expect([errors, slowScrapes()]).toEqual([[], 0]);
  });

  it("that leaves with a second request behind the first ends the first, and the second never begins", async () => {
    const { source, ended } = endless();
    const { address, clock, get } = await serve(source);
    const ends = ended();
    const socket = await scraper(address, "\r\nGET /metrics HTTP/1.1\r\nhost: localhost\r\n");
    await get("/-/healthy");
    expect(clock.armed).toBe(1);
    socket.destroy();
    await ends;
    await get("/-/healthy");
    expect(clock.armed).toBe(0);
  });

  it("is cut off after a minute, which is reported", async () => {
    const { source, ended, pieces } = endless();
    const { address, clock, errors, slowScrapes } = await serve(source);
    const end = ended();
    const socket = await scraper(address);
    // What the system holds of a connection is soon full, and none is made beyond it.
    for (let turn = 0; turn < 3_000; turn += 1) await setImmediate();
    expect(pieces()).toBeLessThan(1_000);
    clock.advance(longestScrapeMs - 1);
    expect(slowScrapes()).toBe(0);
    clock.advance(1);
    socket.resume();
    await Promise.all([end, once(socket, "close")]);
    expect([slowScrapes(), errors, clock.armed]).toEqual([1, [], 0]);
  });
});

describe("scrapers past the eighth", () => {
  it("are refused until one is done", async () => {
    const { source, ended } = endless();
    const { address, get } = await serve(source);
    const sockets = await Promise.all(Array.from({ length: mostScrapes }, () => scraper(address)));
    const refused = await get("/metrics");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
    expect(refused.text).toBe("8 scrapes are already in progress; try again later\n");

    const end = ended();
    sockets[0]?.destroy();
    await end;
    const next = await scraper(address);
    expect(String(next.read(15))).toBe("HTTP/1.1 200 OK");
  });

  it("replace one that has not read for five seconds", async () => {
    // More than the connection holds while nobody reads.
    const piece = "x".repeat(16 * 2 ** 20);
    const { address, clock, slowScrapes } = await serve(exposing(() => [piece]));
    await Promise.all(Array.from({ length: mostScrapes }, () => scraper(address)));
    clock.advance(5_000);
    const next = await scraper(address);
    expect([String(next.read(15)), slowScrapes()]).toEqual(["HTTP/1.1 200 OK", 1]);
  });

  it("of another sender take half of the places, however fast their readers are", async () => {
    const names = ["slow", "usual"];
    const tokens = names.map(
      (name) => ({ name, role: "metrics", token: new Secret(name) }) as const,
    );
    const { source } = endless();
    const { address, slowScrapes } = await serve(source, {
      ...openAccess,
      anonymous: null,
      tokens,
    });
    const scrape = async (name: string): Promise<string> => {
      const socket = await scraper(address, `authorization: Bearer ${name}\r\n`);
      return String(socket.read(12)).slice(-3);
    };
    const first: string[] = [];
    for (let index = 0; index <= mostScrapes; index += 1) first.push(await scrape("slow"));
    expect(first).toEqual([...Array(mostScrapes).fill("200"), "503"]);
    const others: string[] = [];
    for (let index = 0; index < 5; index += 1) others.push(await scrape("usual"));
    expect(others).toEqual(["200", "200", "200", "200", "503"]);
    expect(slowScrapes()).toBe(4);
  });

  it("are not refused because of earlier ones that failed or were for unknown families", async () => {
    const answers = [
      () => Promise.reject(new Error("disk")),
      () => Promise.resolve({ kind: "refused", reason: 'there is no "a"' } as const),
    ] as const;
    let scrapes = 0;
    const { get } = await serve({ scrape: () => answers[scrapes++ % 2 === 0 ? 0 : 1]() });
    for (let index = 0; index <= mostScrapes; index += 1) {
      expect(await get("/metrics")).toMatchObject({ status: 500 });
      const text = 'there is no "a"\n';
      expect(await get("/metrics?collect[]=a")).toMatchObject({ status: 400, text });
    }
  });
});
