import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { z } from "zod";
import { webhooks } from "./configuration.ts";

const messageSchema = z.looseObject({
  type: z.string(),
  data: z.looseObject({ incidents: z.array(z.looseObject({ id: z.string(), state: z.string() })) }),
});

/** What a webhook accepted, in order. */
export interface Message {
  readonly receiver: string;
  readonly id: string;
  readonly type: string;
  readonly incidents: readonly { readonly id: string; readonly state: string }[];
}

export interface Sink extends AsyncDisposable {
  readonly origin: string;
  readonly accepted: readonly Message[];
  readonly requests: () => number;
  /** Whether it fails at times: with an error, a refusal for now, no answer, a broken connection, a lost answer. */
  setFailing(failing: boolean): void;
}

/** All receivers. */
export async function startSink(random: () => number): Promise<Sink> {
  const accepted: Message[] = [];
  let requests = 0;
  let isFailing = false;

  const accept = (receiver: string, id: string, body: string): void => {
    if (!webhooks.includes(receiver)) return;
    const { type, data } = messageSchema.parse(JSON.parse(body));
    accepted.push({ receiver, id, type, incidents: data.incidents });
  };
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    requests += 1;
    const [, receiver = ""] = (request.url ?? "").split("/");
    const body = await text(request);
    const drawn = isFailing ? random() : 1;
    if (drawn < 0.1) return void response.writeHead(500).end();
    if (drawn < 0.15) return void response.writeHead(429, { "retry-after": "1" }).end();
    if (drawn < 0.2) return void request.socket.resetAndDestroy();
    if (drawn < 0.22) return;
    accept(receiver, String(request.headers["webhook-id"]), body);
    if (drawn < 0.27) return void request.socket.resetAndDestroy();
    response.end("ok");
  };
  const server = createServer((request, response) => {
    receive(request, response).catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  return {
    origin: `http://127.0.0.1:${port}`,
    accepted,
    requests: () => requests,
    setFailing: (failing) => void (isFailing = failing),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
