import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setTimeout } from "node:timers/promises";
import { z } from "zod";
import { answerParent } from "../../bench/support/helper.ts";
import { seededRandom } from "../../src/lib/random.ts";
import { keys, listingOf, readApiKey, regions, serversOf } from "./world.ts";
import type { Call, Truth } from "./world.ts";

/** The service. What it shows is only what it was asked to show, and it writes down who called when. */
const statuses = new Map<string, string>();
const random = seededRandom(1);
let truth: Truth[] = [];
let calls: Call[] = [];
/** Errors that nobody was shown yet. */
const unshown = new Set<string>();

/** Who waits for a call that is held, and what lets it go. */
interface Trap {
  readonly catches: (name: string, hasNews: boolean) => boolean;
  readonly caught: (name: string) => void;
}
let trap: Trap | null = null;
let letGo = (): void => {};

const place = z.object({ region: z.string(), key: z.string(), server: z.string() });

for (const region of regions) {
  for (const key of keys)
    for (const { server } of serversOf(region, key)) show(region, key, server, "idle");
}

function show(region: string, key: string, server: string, status: string): number {
  const atMs = Date.now();
  statuses.set(server, status);
  truth.push({ region, key, server, status, atMs });
  if (status === "error") unshown.add(server);
  return atMs;
}

const nameOf = (incarnation: string): string => incarnation.split(".", 1)[0] ?? "";

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const startMs = Date.now();
  const [, region = ""] = (request.url ?? "").split("/");
  const { key, incarnation } = readApiKey(request.headers.authorization);
  const name = nameOf(incarnation);
  const write = (): void =>
    void calls.push({ incarnation, region, key, startMs, endMs: Date.now() });
  response.on("close", write);
  const drawn = random();
  await setTimeout(drawn < 0.02 ? 800 : drawn < 0.1 ? 200 : 5 + 30 * random());
  const servers = serversOf(region, key).map(({ server }) => server);
  const hasNews = servers.some((server) => unshown.has(server));
  const body = listingOf(region, key, (server) => statuses.get(server) ?? "idle");
  const held = trap;
  if (held?.catches(name, hasNews)) {
    trap = null;
    const released = new Promise<void>((resolve) => (letGo = resolve));
    held.caught(name);
    await released;
  }
  for (const server of servers) unshown.delete(server);
  response.writeHead(200, { "content-type": "application/json" }).end(body);
}

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  answer(request, response).catch(() => response.destroy());
});

const setTrap = (catches: Trap["catches"]): Promise<string> =>
  new Promise((caught) => (trap = { catches, caught }));

answerParent({
  async open() {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    return `http://127.0.0.1:${typeof address === "object" && address ? address.port : 0}`;
  },
  show(params) {
    const { status, ...at } = place.extend({ status: z.string() }).parse(params);
    return show(at.region, at.key, at.server, status);
  },
  /** Holds the answer to the next call of a process. Gives its name. */
  holdCallOf(params) {
    const name = z.string().parse(params);
    return setTrap((caller) => caller === name);
  },
  /** Holds the next answer that shows an error for the first time. Gives the name of who called. */
  holdNews: () => setTrap((_, hasNews) => hasNews),
  letGo() {
    trap = null;
    letGo();
  },
  /** What happened since the last time. */
  take() {
    const taken = { truth, calls };
    truth = [];
    calls = [];
    return taken;
  },
});
