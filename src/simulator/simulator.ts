import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { targetName, type Target } from "../fleet/model.ts";
import type { Clock } from "../lib/clock.ts";
import { hostToListen, localAddress, type ListenAddress } from "../lib/listen-address.ts";
import { seededRandom } from "../lib/random.ts";
import type { RateLimit } from "../lib/rate-limit.ts";
import { answerTo, documentAt, notFound, prefixOf, problem, routeOf } from "./answers.ts";
import { createLookupData, type LookupData, type RegionContent } from "./lookup-data.ts";
import { beginExchange, createGate, passFaults, send } from "./exchange.ts";
import { faultsSchema, strike, type Fault } from "./faults.ts";
import { listingBody } from "./listing.ts";
import type { Load, Tempo } from "./server-status.ts";
import { createWorld } from "./world.ts";
import type { Manner, Pin, SimulatedSandbox, SimulatedServer, WorldView } from "./world.ts";

export interface SimulatorOptions {
  /** Equal seeds and equal times give equal answers, to the byte. */
  readonly seed: number;
  readonly clock: Clock;
  readonly regions: readonly string[];
  readonly keys: readonly { readonly name: string; readonly apiKey: string }[];
  /** Servers in the listing of one key in one region. */
  readonly servers: number;
  /** For each key in each region. Null: none. Default: two requests a second. */
  readonly rateLimit?: RateLimit | null | undefined;
  readonly faults?: readonly Fault[];
  /** What regions hold, by name, instead of what is made up. */
  readonly content?: Readonly<Record<string, RegionContent>> | undefined;
  /** How many times faster than usual statuses move and sandboxes are replaced. 0: never. */
  readonly pace?: number | Tempo;
  /** Default: the usual one. */
  readonly load?: Load;
  /** Who states a status in sandboxes, one after another. Default: each states the worst of its servers. */
  readonly manners?: readonly Manner[];
}

export type Simulator = ReturnType<typeof createSimulator>;

/** The watched service, simulated over HTTP. */
export function createSimulator(options: SimulatorOptions) {
  const { seed, clock, regions, keys, rateLimit = { requests: 2, perMs: 1_000 } } = options;
  const content = new Map(Object.entries(options.content ?? {}));
  const world = createWorld(seed, options.pace ?? 1, options.load, options.manners);
  const admit = createGate(clock, keys, rateLimit);
  const random = seededRandom(seed);
  const startedMs = clock.now().monotonicMs;
  let faults = faultsSchema.parse(options.faults ?? []);
  const pins = new Map<string, Map<string, Pin>>();
  const directories = new Map<string, LookupData>();
  const directoryOf = (region: string): LookupData => {
    const directory =
      directories.get(region) ?? createLookupData(seed, region, content.get(region));
    directories.set(region, directory);
    return directory;
  };
  const viewAt = (target: Target, utcMs: number): WorldView => ({
    target,
    utcMs,
    servers: content.get(target.region)?.servers ?? options.servers,
    pins: pins.get(targetName(target)) ?? new Map(),
  });

  const sandboxesAt = (target: Target, utcMs: number): Iterable<SimulatedSandbox> =>
    content.get(target.region)?.local_sandboxes ? [] : world.sandboxes(viewAt(target, utcMs));

  /** Path, method, credential, rate limit, faults, then the operation itself. */
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const exchange = beginExchange(response, clock);
    const [path = ""] = (request.url ?? "").split("?", 1);
    const route = routeOf(path, regions);
    // For everybody: it takes no key, and no token of its limit.
    const document = route ? null : documentAt(path, regions);
    if (!route && !document) return send(exchange, notFound);
    if (request.method !== "GET") {
      return send(exchange, problem(405, "Method not allowed", { allow: "GET" }));
    }
    if (!route) return send(exchange, document ?? notFound);
    const { region } = route;
    const admission = admit(region, request.headers.authorization);
    if ("refused" in admission) return send(exchange, admission.refused);
    const { key } = admission;
    const elapsedSeconds = (clock.now().monotonicMs - startedMs) / 1_000;
    const struck = strike(faults, { ...route, key }, elapsedSeconds, random);
    if (!(await passFaults(exchange, request, struck))) return undefined;
    const listing = () => {
      const view = viewAt({ region, key }, clock.now().utcMs);
      return listingBody(world, view, struck, content.get(region)?.local_sandboxes);
    };
    return send(exchange, answerTo(route, directoryOf(region), struck, listing), struck);
  };
  const server = createServer((request, response) => void serve(request, response));
  // Clients keep their connections between polls; only `close` ends them.
  server.keepAliveTimeout = 0;

  return {
    /** Serves on one port, one path prefix a region; port 0 takes a free one. Gives the base addresses. */
    listen: (given: ListenAddress): Promise<ReadonlyMap<string, string>> =>
      listen(server, regions, given),
    /** Ends every connection, hanging ones too. */
    async close(): Promise<void> {
      if (!server.listening) return;
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
    /** Replaces all faults. @throws {z.ZodError} when one is not of the schema */
    setFaults(next: readonly Fault[]): void {
      faults = faultsSchema.parse(next);
    },
    /**
     * What a target's listing holds at a moment, with the pins of now and without any fault. Sandboxes that
     * were given as content are not among it, nor can they be pinned.
     */
    *truth(target: Target, utcMs: number): Iterable<SimulatedServer> {
      for (const sandbox of sandboxesAt(target, utcMs)) yield* sandbox.servers;
    },
    /** The same by sandboxes. */
    sandboxes: sandboxesAt,
    /**
     * Makes a server or a sandbox show any string or null, or `absent` to vanish, until unpinned. It goes with the
     * sandbox, should that be replaced meanwhile.
     */
    pin(target: Target, id: string, status: string | null): void {
      const name = targetName(target);
      const ofTarget = pins.get(name) ?? new Map<string, Pin>();
      pins.set(name, ofTarget.set(id, { status, updatedAtMs: clock.now().utcMs }));
    },
    unpin(target: Target, id: string): void {
      pins.get(targetName(target))?.delete(id);
    },
    /** Ids with which the look-up operations find something. */
    knownIds: (region: string) => directoryOf(region).knownIds,
  };
}

async function listen(
  server: Server,
  regions: readonly string[],
  { host, port }: ListenAddress,
): Promise<ReadonlyMap<string, string>> {
  server.listen(port, hostToListen(host));
  await once(server, "listening");
  const address = server.address();
  const boundPort = typeof address === "object" && address ? address.port : port;
  const origin = localAddress({ host, port: boundPort });
  return new Map(regions.map((region) => [region, `${origin}${prefixOf(region)}`]));
}
