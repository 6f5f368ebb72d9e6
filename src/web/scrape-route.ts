import type { Transform } from "node:stream";
import type { FastifyInstance, FastifyReply } from "fastify";
import { asError } from "../lib/as-error.ts";
import type { Clock } from "../lib/clock.ts";
import { chooseEncoding, createCompressor } from "./content-encoding.ts";
import { chooseFormat, contentTypeOf } from "./exposition-format.ts";
import type { ExpositionFormat } from "./exposition-format.ts";
import { createReaderPlaces } from "./reader-places.ts";
import type { Reader } from "./reader-places.ts";
import { sendPieces } from "./send-pieces.ts";

export interface ScrapeSource {
  scrape(request: {
    readonly syntax: ExpositionFormat["syntax"];
    /** Names of the families to expose; none stands for all. */
    readonly collect: readonly string[];
  }): Promise<
    | {
        readonly kind: "exposition";
        /** A piece is good until the next one is asked for. */
        readonly pieces: Iterable<Uint8Array>;
      }
    | { readonly kind: "refused"; readonly reason: string }
  >;
}

export interface ScrapeRouteDeps {
  readonly metrics: ScrapeSource;
  readonly clock: Clock;
  readonly onError: (error: Error) => void;
  /** A scraper read too slowly, and was cut off. */
  readonly onSlowScrape: () => void;
}

/** A scrape keeps what it shows in memory: one that takes longer is cut off. */
export const longestScrapeMs = 60_000;

/** For the same reason, further ones are refused. */
export const mostScrapes = 8;

/** A reader that has not read for this long can be replaced. */
const idleScrapeMs = 5_000;

/** How soon a scraper that was refused may come back. */
const retryAfterSeconds = 5;

/** Serves `/metrics`, in the format and encoding that the scraper asks for. */
export function addScrapeRoute(server: FastifyInstance, deps: ScrapeRouteDeps): void {
  const places = createReaderPlaces(deps.clock, { most: mostScrapes, idleMs: idleScrapeMs });

  server.route({
    method: ["GET", "HEAD"],
    url: "/metrics",
    async handler(request, reply) {
      const itself = places.take();
      if (!itself) {
        return reply
          .code(503)
          .header("retry-after", retryAfterSeconds)
          .type("text/plain")
          .send(`${mostScrapes} scrapes are being answered already; try again later\n`);
      }
      try {
        const { accept, "accept-encoding": acceptEncoding } = request.headers;
        const format = chooseFormat(accept);
        const scrape = await deps.metrics.scrape({
          syntax: format.syntax,
          collect: queryOf(request.url).getAll("collect[]"),
        });
        if (scrape.kind === "refused") {
          return await reply.code(400).type("text/plain").send(`${scrape.reason}\n`);
        }
        const encoding = chooseEncoding(acceptEncoding);
        const headers = {
          "content-type": contentTypeOf(format),
          vary: "accept, accept-encoding",
          ...(encoding === "identity" ? {} : { "content-encoding": encoding }),
        };
        const pieces = watchReading(scrape.pieces[Symbol.iterator](), () => {
          itself.readMs = deps.clock.now().monotonicMs;
        });
        // Until the first piece is there, what fails is answered as an error.
        const first = request.method === "HEAD" ? null : pieces.next();
        reply.hijack();
        reply.raw.writeHead(200, headers);
        if (first === null) reply.raw.end();
        else await send(first, pieces, reply, { itself, compressor: createCompressor(encoding) });
      } finally {
        places.leave(itself);
      }
    },
  });

  const send = async (
    first: IteratorResult<Uint8Array, unknown>,
    pieces: Iterator<Uint8Array>,
    { raw: response }: FastifyReply,
    { itself, compressor }: { itself: Reader; compressor: Transform | null },
  ): Promise<void> => {
    const cutOff = (): void => {
      deps.onSlowScrape();
      response.destroy();
    };
    itself.cutOff = cutOff;
    const disarm = deps.clock.setTimer(longestScrapeMs, cutOff);
    try {
      await sendPieces(first, pieces, { response, compressor });
    } catch (error) {
      deps.onError(asError(error));
    } finally {
      disarm();
    }
  };
}

/** The same iterator, which reports each request for a piece. */
function watchReading(pieces: Iterator<Uint8Array>, onRead: () => void): Iterator<Uint8Array> {
  return {
    next() {
      onRead();
      return pieces.next();
    },
    return: () => pieces.return?.() ?? { done: true, value: undefined },
  };
}

function queryOf(url: string): URLSearchParams {
  return new URLSearchParams(url.replace(/^[^?]*/, ""));
}
