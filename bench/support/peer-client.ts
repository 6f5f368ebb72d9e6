import { join } from "node:path";
import { z } from "zod";
import { preparedSchema } from "./peer-messages.ts";
import type { Prepared, Step } from "./peer-messages.ts";
import { startHelper } from "./rpc.ts";
import { scrapeSchema } from "./scrape.ts";
import type { Scrape, ScrapeRequest } from "./scrape.ts";

/** The peer, from the measured process's side. */
export interface Peer extends AsyncDisposable {
  readonly origin: string;
  /** Serves a fresh fleet under `/NAME/local-sandbox`. */
  fleet(name: string, servers: number): Promise<Prepared>;
  step(name: string, step: Step): Promise<Prepared>;
  /** From now on each listing of this name is sent once: who asks once more waits for the next one. */
  sendOnce(name: string): Promise<void>;
  /** Once somebody waits for the next listing, which a daemon does when its last poll has ended. */
  untilAskedAgain(name: string): Promise<void>;
  scrape(request: ScrapeRequest): Promise<Scrape>;
  /** How many listings were sent whole, by name. */
  sent(): Promise<Readonly<Record<string, number>>>;
  longestGapMs(name: string): Promise<number>;
  /** From the last byte of a listing to the first of each message since the last call. */
  alertDelaysMs(): Promise<readonly number[]>;
}

const seed = 20_261_120;

export async function startPeer(): Promise<Peer> {
  const helper = await startHelper(join(import.meta.dirname, "peer.ts"), [
    "--max-old-space-size=4096",
  ]);
  const port = await helper.ask("port", null, z.number());
  return {
    origin: `http://127.0.0.1:${port}`,
    fleet: (name, servers) => helper.ask("fleet", { name, seed, servers }, preparedSchema),
    step: (name, step) => helper.ask("step", { name, step }, preparedSchema),
    sendOnce: (name) => helper.ask("sendOnce", name, z.undefined()),
    untilAskedAgain: (name) => helper.ask("untilAskedAgain", name, z.undefined()),
    scrape: (request) => helper.ask("scrape", request, scrapeSchema),
    sent: () => helper.ask("sent", null, z.record(z.string(), z.number())),
    longestGapMs: (name) => helper.ask("longestGapMs", name, z.number()),
    alertDelaysMs: () => helper.ask("alertDelaysMs", null, z.array(z.number())),
    [Symbol.asyncDispose]: () => helper[Symbol.asyncDispose](),
  };
}
