import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";
import { z } from "zod";

/** The part of a message that is shown. */
const messageSchema = z.object({
  type: z.string(),
  data: z.object({ severity: z.string(), summary: z.string() }),
});

export interface DemoReceiver {
  /** Listens on a free port of this machine, and gives the URL for alerts. */
  listen(): Promise<string>;
  close(): Promise<void>;
}

/** A receiver as a user would write one: it verifies the signature and shows one line per alert. */
export function createDemoReceiver(secret: string, show: (line: string) => void): DemoReceiver {
  const webhook = new Webhook(secret);
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    try {
      const body = await text(request);
      const headers = Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
      );
      const { type, data } = messageSchema.parse(webhook.verify(body, headers));
      show(`${type.replace("incident.", "").toUpperCase()} (${data.severity}) ${data.summary}`);
      response.writeHead(204).end();
    } catch {
      response.writeHead(400).end();
    }
  };
  const server = createServer((request, response) => void receive(request, response));
  return {
    async listen() {
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      const address = server.address();
      if (address === null || typeof address === "string") throw new Error("no port to listen on");
      return `http://127.0.0.1:${address.port}/alerts`;
    },
    async close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
