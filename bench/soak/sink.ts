import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";

export interface Sink extends AsyncDisposable {
  readonly origin: string;
  readonly requests: () => number;
  /** Whether it fails at times: with an error, a refusal for now, no answer, a broken connection. */
  setFailing(failing: boolean): void;
}

/** All receivers. */
export async function startSink(random: () => number): Promise<Sink> {
  let requests = 0;
  let isFailing = false;

  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    requests += 1;
    await text(request);
    const drawn = isFailing ? random() : 1;
    if (drawn < 0.1) return void response.writeHead(500).end();
    if (drawn < 0.15) return void response.writeHead(429, { "retry-after": "1" }).end();
    if (drawn < 0.25) return void request.socket.resetAndDestroy();
    if (drawn < 0.27) return;
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
    requests: () => requests,
    setFailing: (failing) => void (isFailing = failing),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
