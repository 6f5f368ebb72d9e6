import { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { asError } from "../../lib/as-error.ts";
import { delay, type Clock } from "../../lib/clock.ts";
import type { Refusal } from "../refusals.ts";
import { limitReaders, type Reader } from "../slow-readers.ts";
import { sendProblem } from "./problem.ts";

/** What was stored after a cursor. */
interface News {
  readonly events: readonly { readonly kind: string; readonly view: object }[];
  /** The cursor of the next query. */
  readonly after: string;
  /** Whether there may already be more. */
  readonly hasMore: boolean;
}

/** Reads what was stored after the query's `after`; without `after` only the current cursor. */
export type EventSource = (query: object) => Promise<News>;

export interface EventsDeps {
  readonly events: EventSource;
  readonly clock: Clock;
  readonly onError: (error: Error) => void;
  readonly onRefused: (refusal: Refusal) => void;
  readonly mostStreams: number;
}

/** At the same times for all streams, so that they share what they read. */
const queryEveryMs = 500;

/** Then something is sent even without news, so that either side notices when the other is gone. */
const longestQuietMs = 15_000;

/** When a reader reconnects after its connection broke. */
const retryMs = 2_000;

/** A reader that has not read for this long can be replaced. */
const idleMs = 60_000;

/**
 * Serves changes and incidents as server-sent events. A stream keeps a cursor and no events: they are read
 * from the store when its reader is ready for them, so a slow reader uses no memory.
 */
export function addEventsRoute(
  api: FastifyInstance,
  url: string,
  { events: source, clock, onError, onRefused, mostStreams }: EventsDeps,
): void {
  const readers = limitReaders(clock, mostStreams, idleMs);
  const events = shareQueries(source, clock);

  async function* follow(query: object, first: News, reader: Reader, signal: AbortSignal) {
    yield `retry: ${retryMs}\n\n`;
    let news = first;
    let sentMs = Number.NEGATIVE_INFINITY;
    try {
      for (;;) {
        const { monotonicMs } = clock.now();
        reader.readMs = monotonicMs;
        if (news.events.length > 0 || monotonicMs - sentMs >= longestQuietMs) {
          yield eventText(news);
          sentMs = monotonicMs;
        }
        // Otherwise a fast reader would block the event loop.
        if (news.hasMore) await setImmediate();
        else await delay(clock, queryEveryMs - (monotonicMs % queryEveryMs), signal);
        if (signal.aborted) return;
        news = await events({ ...query, after: news.after });
      }
    } catch (error) {
      if (!signal.aborted) onError(asError(error));
    }
  }

  api.route({
    method: ["GET", "HEAD"],
    url,
    config: { permission: "read" },
    async handler(request, reply) {
      const ended = new AbortController();
      reply.raw.once("close", () => ended.abort());
      const query = queryOf(request);
      const first = await events(query);
      void reply.type("text/event-stream").header("cache-control", "no-store");
      // Otherwise nginx buffers events.
      void reply.header("x-accel-buffering", "no");
      if (request.method === "HEAD") return reply.send();
      if (ended.signal.aborted) return reply.hijack();
      const reader = readers.admit(request);
      if (!reader) {
        onRefused({ reason: "busy", address: request.sender });
        const detail = `${mostStreams} streams are open already.`;
        return sendProblem(reply, { status: 503, detail, retryAfterMs: idleMs });
      }
      reader.cutOff = () => reply.raw.destroy();
      ended.signal.addEventListener("abort", () => readers.remove(reader));
      const texts = follow(query, first, reader, ended.signal);
      return reply.send(Readable.from(texts, { highWaterMark: 1 }));
    },
  });
}

/** Gives equal queries of the same time the same answer: many pages may be open. */
function shareQueries(source: EventSource, clock: Clock): EventSource {
  const recent = new Map<string, { readonly atMs: number; readonly answer: Promise<News> }>();
  return (query) => {
    const { monotonicMs } = clock.now();
    for (const [name, { atMs }] of recent) {
      if (monotonicMs - atMs >= queryEveryMs / 2) recent.delete(name);
    }
    const name = JSON.stringify(query);
    const answer = recent.get(name)?.answer ?? source(query);
    if (!recent.has(name)) recent.set(name, { atMs: monotonicMs, answer });
    return answer;
  };
}

/** A reader that reconnects sends its last event id in a header; its URL still has the first `after`. */
function queryOf({ query, headers }: FastifyRequest): object {
  const last = headers["last-event-id"];
  return { ...Object(query), ...(typeof last === "string" && last !== "" && { after: last }) };
}

/**
 * Only the last event has an id: after a lost connection all of them are sent again. Without events the id
 * is sent alone, which a browser does not report as an event.
 */
function eventText({ events, after }: News): string {
  const blocks = events.map(({ kind, view }) => `event: ${kind}\ndata: ${JSON.stringify(view)}\n`);
  return `${blocks.join("\n")}id: ${after}\n\n`;
}
