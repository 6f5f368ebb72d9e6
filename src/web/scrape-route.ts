import type { IncomingHttpHeaders } from "node:http";
import type { Transform, Writable } from "node:stream";
import { finished, pipeline } from "node:stream/promises";
import { setImmediate } from "node:timers/promises";
import { constants, createGzip, createZstdCompress } from "node:zlib";
import type { FastifyInstance } from "fastify";
import Negotiator from "negotiator";
import { asError } from "../lib/as-error.ts";
import type { Clock } from "../lib/clock.ts";
import type { Refusal } from "./refusals.ts";
import { limitReaders } from "./slow-readers.ts";

interface ExpositionFormat {
  readonly syntax: "text" | "openmetrics";
  readonly contentType: string;
}

export interface ScrapeSource {
  scrape(request: {
    readonly syntax: ExpositionFormat["syntax"];
    /** Names of the families to expose. Empty: all. */
    readonly collect: readonly string[];
  }): Promise<
    | {
        readonly kind: "exposition";
        /** A piece is valid until the next one is requested. */
        readonly pieces: Iterable<Uint8Array>;
      }
    | { readonly kind: "refused"; readonly reason: string }
  >;
}

interface ScrapeRouteDeps {
  readonly metrics: ScrapeSource;
  readonly clock: Clock;
  readonly onError: (error: Error) => void;
  readonly onRefused: (refusal: Refusal) => void;
  /** A scraper was cut off: it read too slowly, or another one needed its place. */
  readonly onSlowScrape: () => void;
}

/** A scrape keeps what it shows in memory: one that takes longer is cut off. */
export const longestScrapeMs = 60_000;

/** For the same reason, further ones are refused. */
export const mostScrapes = 8;

/** A reader that has not read for this long can be replaced. */
const idleScrapeMs = 5_000;

/** Serves `/metrics`, in the format and encoding that the scraper prefers. */
export function addScrapeRoute(
  server: FastifyInstance,
  { metrics, clock, onError, onRefused, onSlowScrape }: ScrapeRouteDeps,
): void {
  const readers = limitReaders(clock, mostScrapes, idleScrapeMs);
  server.route({
    method: ["GET", "HEAD"],
    url: "/metrics",
    config: { permission: "metrics" },
    async handler(request, reply) {
      const { method, url, headers } = request;
      const reader = readers.admit(request);
      if (!reader) {
        onRefused({ reason: "busy", address: request.sender });
        return reply
          .code(503)
          .header("retry-after", idleScrapeMs / 1_000)
          .type("text/plain")
          .send(`${mostScrapes} scrapes are already in progress; try again later\n`);
      }
      try {
        const { syntax, contentType } = chooseFormat(headers);
        const collect = new URLSearchParams(url.replace(/^[^?]*/, "")).getAll("collect[]");
        const scrape = await metrics.scrape({ syntax, collect });
        if (scrape.kind === "refused") {
          return await reply.code(400).type("text/plain").send(`${scrape.reason}\n`);
        }
        const encoding = chooseEncoding(headers);
        const pieces = eachRead(scrape.pieces, () => {
          reader.readMs = clock.now().monotonicMs;
        });
        // Until the first piece is there, a failure is answered as an error.
        const first = method === "HEAD" ? null : pieces.next();
        reply.hijack();
        const { raw: response } = reply;
        for (const [name, value] of Object.entries({
          ...reply.getHeaders(),
          ...encoding.headers,
        })) {
          if (value !== undefined) response.setHeader(name, value);
        }
        response.setHeader("content-type", contentType);
        response.setHeader("vary", "accept, accept-encoding");
        if (!first) return void response.end();
        reader.cutOff = () => {
          onSlowScrape();
          response.destroy();
        };
        const disarm = clock.setTimer(longestScrapeMs, reader.cutOff);
        const compressor = encoding.createCompressor?.() ?? null;
        await sendPieces(first, pieces, { response, compressor })
          .catch((error: unknown) => onError(asError(error)))
          .finally(disarm);
      } finally {
        readers.remove(reader);
      }
    },
  });
}

function* eachRead(pieces: Iterable<Uint8Array>, onRead: () => void) {
  for (const piece of pieces) {
    onRead();
    yield piece;
  }
}

/**
 * Writes pieces to a response, through a compressor if there is one, and ends it. One piece at a time is requested and
 * written: the next one may use the same bytes, and a slow reader makes the producer wait. The event loop turns after
 * each.
 *
 * However it ends, the iterator is ended too. An incomplete body is broken off, so that nobody takes it for the whole.
 *
 * @throws what the iterator throws
 */
async function sendPieces(
  first: IteratorResult<Uint8Array, unknown>,
  rest: Iterator<Uint8Array>,
  { response, compressor }: { readonly response: Writable; readonly compressor: Transform | null },
): Promise<void> {
  const sink = compressor ?? response;
  let stopWaiting = (): void => {};
  const sent = (compressor ? pipeline(compressor, response) : finished(response)).then(
    () => true,
    () => {
      stopWaiting();
      return false;
    },
  );
  const written = (piece: Uint8Array): Promise<boolean> =>
    new Promise((resolve) => {
      stopWaiting = () => resolve(false);
      if (response.destroyed) return resolve(false);
      sink.write(piece, (error) => resolve(!error));
    });

  let isWhole = false;
  try {
    for (let step = first; !step.done; step = rest.next()) {
      if (!(await written(step.value))) return;
      await setImmediate();
    }
    sink.end();
    isWhole = await sent;
  } finally {
    rest.return?.();
    if (!isWhole) response.destroy();
  }
}

const text = "text/plain; version=0.0.4";

/** In the order of preference where a request has none. */
const formats = [
  text,
  "application/openmetrics-text; version=1.0.0",
  "application/openmetrics-text; version=0.0.1",
];

/** The format that Accept prefers. Default: the text format, which everything can read. */
export function chooseFormat({ accept }: Pick<IncomingHttpHeaders, "accept">): ExpositionFormat {
  // Prometheus 3 states how names are to be escaped. No name here needs it.
  const headers = { accept: accept?.replaceAll(/;\s*escaping=[^;,]*/g, "") };
  const format = new Negotiator({ headers }).mediaType(formats) ?? text;
  return {
    syntax: format.startsWith("text/") ? "text" : "openmetrics",
    contentType: `${format}; charset=utf-8`,
  };
}

const chunkSize = 64 * 1_024;

/** Compression runs on libuv's threads, as lightly as the format allows. */
const compressors: Readonly<Record<string, () => Transform>> = {
  zstd: () => createZstdCompress({ chunkSize, params: { [constants.ZSTD_c_compressionLevel]: 1 } }),
  gzip: () => createGzip({ chunkSize, level: 1 }),
};

interface ContentEncoding {
  /** Empty for `identity`. */
  readonly headers: { readonly "content-encoding"?: string };
  /** Null: the body is sent as it is. */
  readonly createCompressor: (() => Transform) | null;
}

/** The encoding that Accept-Encoding prefers; of equals the first. A client that accepts anything gets gzip. */
export function chooseEncoding(headers: IncomingHttpHeaders): ContentEncoding {
  const name = new Negotiator({ headers }).encoding(["gzip", "zstd", "identity"]) ?? "identity";
  const createCompressor = compressors[name] ?? null;
  return { headers: createCompressor ? { "content-encoding": name } : {}, createCompressor };
}
