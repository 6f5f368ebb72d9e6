import { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { asError } from "../../platform/as-error.ts";
import { delay } from "../../platform/clock.ts";
import type { Clock } from "../../platform/clock.ts";
import { createReaderPlaces } from "../reader-places.ts";
import type { Reader } from "../reader-places.ts";
import { checkSite } from "./guard.ts";
import { eventsPath, operationsPrefix } from "./paths.ts";
import { sendProblem } from "./problem.ts";

/** What happened after a place. */
interface News {
  readonly events: readonly { readonly kind: string; readonly view: object }[];
  /** The place to go on with. */
  readonly after: string;
  /** Whether there may be more already. */
  readonly hasMore: boolean;
}

/** Gives what happened after the query's `after`; without it nothing, but where to go on. */
export type EventSource = (query: object) => Promise<News>;

export interface EventsDeps {
  readonly events: EventSource;
  readonly clock: Clock;
  readonly onError: (error: Error) => void;
}

const lookEveryMs = 1_000;

/** After so many looks without news something is sent all the same: either side notices when the other is gone. */
const mostQuietLooks = 15;

/** How soon a reader whose connection broke is to come back. */
const retryMs = 2_000;

/** Each looks into the store every second. */
const mostStreams = 64;

/** One that has not read for that long gives its place to the next. */
const idleMs = 60_000;

/**
 * Serves what happens as it comes, as server-sent events. A stream keeps a place and no events: they are
 * read from the store when its reader is ready for them, so that a slow one costs nothing.
 */
export function addEventsRoute(api: FastifyInstance, { events, clock, onError }: EventsDeps): void {
  const places = createReaderPlaces(clock, { most: mostStreams, idleMs });

  async function* follow(
    query: object,
    first: News,
    reader: Reader,
    signal: AbortSignal,
  ): AsyncGenerator<string, void> {
    yield `retry: ${retryMs}\n\n`;
    let news = first;
    let quietLooks = mostQuietLooks;
    try {
      for (;;) {
        reader.readMs = clock.now().monotonicMs;
        if (news.events.length > 0 || quietLooks >= mostQuietLooks) {
          yield eventText(news);
          quietLooks = 0;
        }
        // A fast reader takes all at once, and nothing else would have its turn.
        if (news.hasMore) await setImmediate();
        else await delay(clock, lookEveryMs, signal);
        if (signal.aborted) return;
        news = await events({ ...query, after: news.after });
        quietLooks += 1;
      }
    } catch (error) {
      if (!signal.aborted) onError(asError(error));
    }
  }

  api.route({
    method: ["GET", "HEAD"],
    url: `${operationsPrefix}${eventsPath}`,
    async handler(request, reply) {
      const problem = checkSite(request);
      if (problem) return sendProblem(reply, problem);
      const ended = new AbortController();
      reply.raw.once("close", () => ended.abort());
      const query = queryOf(request);
      const first = await events(query);
      void reply.type("text/event-stream").header("cache-control", "no-store");
      // Or nginx gathers events before it passes them on.
      void reply.header("x-accel-buffering", "no");
      if (request.method === "HEAD") return reply.send();
      if (ended.signal.aborted) return reply.hijack();
      const reader = places.take();
      if (!reader) {
        const detail = `${mostStreams} others are following already.`;
        return sendProblem(reply, { status: 503, detail, retryAfterMs: idleMs });
      }
      reader.cutOff = () => reply.raw.destroy();
      ended.signal.addEventListener("abort", () => places.leave(reader));
      const texts = follow(query, first, reader, ended.signal);
      return reply.send(Readable.from(texts, { highWaterMark: 1 }));
    },
  });
}

/** A reader that comes back says in a header how far it was; its address still says where it began. */
function queryOf({ query, headers }: FastifyRequest): object {
  const last = headers["last-event-id"];
  return { ...Object(query), ...(typeof last === "string" && last !== "" && { after: last }) };
}

/**
 * The last of them bears the place: who lost the connection before it hears them all again. Where there are
 * none the place alone is told, of which a browser makes no event.
 */
function eventText({ events, after }: News): string {
  const blocks = events.map(({ kind, view }) => `event: ${kind}\ndata: ${JSON.stringify(view)}\n`);
  return `${blocks.join("\n")}id: ${after}\n\n`;
}
