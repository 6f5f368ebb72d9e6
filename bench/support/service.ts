import type { Buffer } from "node:buffer";
import { EventEmitter, once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createFleet } from "./fleet.ts";
import type { Fleet } from "./fleet.ts";

/** The service and a webhook receiver in this process, so that one clock measures between the two. */
export interface Service extends AsyncDisposable {
  readonly origin: string;
  /** Lists a new fleet at `/NAME/local-sandbox`, and for floors at `/floor/NAME`, where nobody waits. */
  list(name: string, servers: number): Fleet;
  /** From now on each listing of this name is sent once: who asks again waits for `sendNext`. */
  sendOnce(name: string): void;
  /** Lists the fleet as it is now. */
  sendNext(name: string): void;
  /** Once somebody waits for the next listing: then nobody has anything left to do with the last. */
  untilAskedAgain(name: string): Promise<void>;
  /** How many listings were sent whole. */
  sent(name: string): number;
  /** From the last byte of a listing to the first of each message since the last call. Milliseconds. */
  takeAlertDelaysMs(): readonly number[];
}

interface Served {
  readonly fleet: Fleet;
  blocks: readonly Buffer[];
  sent: number;
  isSentOnce: boolean;
  /** Nobody has had the listing yet. */
  isNext: boolean;
  /** Who asked for the next listing. */
  waiting: ServerResponse[];
}

export async function startService(): Promise<Service> {
  const listings = new Map<string, Served>();
  const asked = new EventEmitter().setMaxListeners(0);
  let lastByteMs = 0;
  let alertDelaysMs: number[] = [];

  const served = (name: string): Served => {
    const found = listings.get(name);
    if (!found) throw new Error(`there is no listing ${name}`);
    return found;
  };

  const send = async ({ blocks }: Served, response: ServerResponse): Promise<void> => {
    const length = blocks.reduce((sum, block) => sum + block.length, 0);
    response.writeHead(200, { "content-type": "application/json", "content-length": length });
    for (const block of blocks.slice(0, -1)) {
      if (!response.write(block)) await once(response, "drain");
    }
    // Taken before the last block leaves, so that a delay counted from here is never too short.
    lastByteMs = performance.now();
    response.end(blocks.at(-1));
  };

  const sendInTurn = async (listing: Served, response: ServerResponse): Promise<void> => {
    if (listing.isSentOnce && !listing.isNext) {
      listing.waiting.push(response);
      response.on("close", () => {
        listing.waiting = listing.waiting.filter((each) => each !== response);
      });
      asked.emit("asked");
      return;
    }
    listing.isNext = false;
    await send(listing, response);
    listing.sent += 1;
  };

  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const [, name = "", resource = ""] = (request.url ?? "").split("/");
    if (name === "hook") {
      alertDelaysMs.push(performance.now() - lastByteMs);
      request.resume().on("end", () => response.writeHead(204).end());
      return;
    }
    const isFloor = name === "floor";
    const listing = listings.get(isFloor ? resource : name);
    if (!listing) return void response.writeHead(404).end();
    const sending = isFloor ? send(listing, response) : sendInTurn(listing, response);
    void sending.catch(() => response.destroy());
  };

  const server = createServer({ keepAliveTimeout: 600_000 }, answer);
  server.listen({ host: "127.0.0.1", port: 0, backlog: 4_096 });
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address ? address.port : 0;
  return {
    origin: `http://127.0.0.1:${port}`,
    list(name, servers) {
      const fleet = createFleet({ seed: listings.size + 1, servers });
      listings.set(name, {
        fleet,
        blocks: fleet.render(),
        sent: 0,
        isSentOnce: false,
        isNext: true,
        waiting: [],
      });
      return fleet;
    },
    sendOnce: (name) => void (served(name).isSentOnce = true),
    sendNext(name) {
      const listing = served(name);
      listing.blocks = listing.fleet.render();
      listing.isNext = true;
      const next = listing.waiting.shift();
      if (next) void sendInTurn(listing, next).catch(() => next.destroy());
    },
    async untilAskedAgain(name) {
      while (served(name).waiting.length === 0) await once(asked, "asked");
    },
    sent: (name) => served(name).sent,
    takeAlertDelaysMs() {
      const taken = alertDelaysMs;
      alertDelaysMs = [];
      return taken;
    },
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
