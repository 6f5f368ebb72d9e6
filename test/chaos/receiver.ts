import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { z } from "zod";
import type { Random } from "../../src/lib/random.ts";

const bodySchema = z.looseObject({
  type: z.string(),
  data: z.looseObject({
    incidents: z.array(
      z.looseObject({
        id: z.string(),
        state: z.enum(["firing", "resolved"]),
        subject: z.string(),
        server_id: z.string().nullable(),
        started_at: z.string(),
      }),
    ),
  }),
});

/** One incident in a message that was accepted, in the order in which they came. */
export interface Heard {
  readonly receiver: string;
  /** `webhook-id`. */
  readonly id: string;
  readonly incident: string;
  readonly state: "firing" | "resolved";
  /** The server, or "pool". */
  readonly subject: string;
  readonly startedMs: number;
  readonly atMs: number;
}

export interface Receiver extends AsyncDisposable {
  readonly origin: string;
  readonly heard: readonly Heard[];
  readonly repeated: () => number;
  /** Resolves with true once such a message was accepted, and with false after that time. */
  hears(matches: (heard: Heard) => boolean, withinMs: number): Promise<boolean>;
  setFailing(failing: boolean): void;
}

/** Two webhooks that sometimes refuse what they get, or accept it without being able to say so. */
export async function startReceiver(random: Random): Promise<Receiver> {
  const heard: Heard[] = [];
  const ids = new Set<string>();
  const waiting = new Set<() => void>();
  let repeated = 0;
  let isFailing = true;

  const accept = (receiver: string, id: string, body: string): void => {
    const { data } = bodySchema.parse(JSON.parse(body));
    if (ids.has(`${receiver} ${id}`)) repeated += 1;
    ids.add(`${receiver} ${id}`);
    const atMs = Date.now();
    for (const { id: incident, state, subject, server_id, started_at } of data.incidents) {
      const about = subject === "server" ? (server_id ?? "") : subject;
      const startedMs = Date.parse(started_at);
      heard.push({ receiver, id, incident, state, subject: about, startedMs, atMs });
    }
    for (const look of waiting) look();
  };
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const [, receiver = ""] = (request.url ?? "").split("/");
    const body = await text(request);
    const drawn = isFailing ? random() : 1;
    if (drawn < 0.04) return void response.writeHead(503).end();
    accept(receiver, String(request.headers["webhook-id"]), body);
    if (drawn < 0.08) return void request.socket.resetAndDestroy();
    response.writeHead(204).end();
  };
  const server = createServer((request, response) => {
    receive(request, response).catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return {
    origin: `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}`,
    heard,
    repeated: () => repeated,
    hears: (matches, withinMs) =>
      new Promise((resolve) => {
        const settle = (found: boolean): void => {
          clearTimeout(late);
          waiting.delete(look);
          resolve(found);
        };
        const look = (): void => {
          if (heard.some(matches)) settle(true);
        };
        const late = setTimeout(() => settle(false), withinMs);
        waiting.add(look);
        look();
      }),
    setFailing: (failing) => void (isFailing = failing),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
