import type { Buffer } from "node:buffer";
import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createTurnstile } from "./turnstile.ts";
import type { Turnstile } from "./turnstile.ts";

export interface PeerServer {
  readonly port: number;
  /** From now on `/NAME/local-sandbox` is answered with this. */
  serve(name: string, blocks: readonly Buffer[]): void;
  /**
   * From now on each listing of this name is sent once, and who asks once more waits for the next
   * one. Before the first one is served, too.
   */
  sendOnce(name: string): void;
  /** Once somebody waits for the next listing: then nobody has anything left to do with the last. */
  untilAskedAgain(name: string): Promise<void>;
  /** How many listings were sent whole, by name. */
  sent(): Readonly<Record<string, number>>;
  /** The longest time between two requests for this listing so far, milliseconds. */
  longestGapMs(name: string): number;
  /** From the last byte of a listing to the first of each message since the last call. Milliseconds. */
  takeAlertDelaysMs(): readonly number[];
}

interface Served {
  turnstile: Turnstile | null;
  blocks: readonly Buffer[];
  sent: number;
  lastRequestMs: number | null;
  longestGapMs: number;
}

/** The service and a webhook receiver in one process, so that one clock measures between the two. */
export async function startPeerServer(): Promise<PeerServer> {
  const listings = new Map<string, Served>();
  const listingOf = (name: string): Served => {
    const known = listings.get(name);
    if (known) return known;
    const served = { turnstile: null, blocks: [], sent: 0, lastRequestMs: null, longestGapMs: 0 };
    listings.set(name, served);
    return served;
  };
  let lastByteMs = 0;
  let alertDelaysMs: number[] = [];

  const send = async (served: Served, response: ServerResponse): Promise<void> => {
    const nowMs = performance.now();
    const gapMs = served.lastRequestMs === null ? 0 : nowMs - served.lastRequestMs;
    served.longestGapMs = Math.max(served.longestGapMs, gapMs);
    served.lastRequestMs = nowMs;
    await served.turnstile?.enter();
    const { blocks } = served;
    const length = blocks.reduce((sum, block) => sum + block.length, 0);
    response.writeHead(200, { "content-type": "application/json", "content-length": length });
    for (const block of blocks.slice(0, -1)) {
      if (!response.write(block)) await once(response, "drain");
    }
    // Taken before the last block leaves, so that a delay counted from here is never too short.
    lastByteMs = performance.now();
    response.end(blocks.at(-1));
    served.sent += 1;
  };

  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const [, name = "", resource] = (request.url ?? "").split("/");
    if (name === "hook") {
      alertDelaysMs.push(performance.now() - lastByteMs);
      request.resume().on("end", () => response.writeHead(204).end());
      return;
    }
    const served = listings.get(name);
    if (!served || resource !== "local-sandbox") return void response.writeHead(404).end();
    void send(served, response).catch(() => response.destroy());
  };

  const server = createServer({ keepAliveTimeout: 600_000 }, answer);
  server.listen({ host: "127.0.0.1", port: 0, backlog: 4_096 });
  await once(server, "listening");
  const address = server.address();
  return {
    port: typeof address === "object" && address ? address.port : 0,
    serve(name, blocks) {
      const served = listingOf(name);
      served.blocks = blocks;
      served.turnstile?.open();
    },
    sendOnce: (name) => void (listingOf(name).turnstile ??= createTurnstile()),
    async untilAskedAgain(name) {
      await listingOf(name).turnstile?.visitor();
    },
    sent: () => Object.fromEntries(Array.from(listings, ([name, { sent }]) => [name, sent])),
    longestGapMs: (name) => listings.get(name)?.longestGapMs ?? 0,
    takeAlertDelaysMs() {
      const taken = alertDelaysMs;
      alertDelaysMs = [];
      return taken;
    },
  };
}
