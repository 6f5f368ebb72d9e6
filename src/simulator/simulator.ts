import { once } from "node:events";
import { createServer } from "node:http";
import type { Target } from "../fleet/model.ts";
import type { RateLimit } from "../lib/rate-limit.ts";
import type { Clock } from "../lib/clock.ts";
import { hostToListen, localAddress } from "../lib/listen-address.ts";
import { seededRandom } from "../lib/random.ts";
import type { RegionContent } from "./content.ts";
import { createDirectory, type Directory, type KnownIds } from "./directory.ts";
import { createExchange } from "./exchange.ts";
import { createFaultBoard } from "./fault-board.ts";
import type { Fault } from "./faults.ts";
import { createGate } from "./gate.ts";
import { createOperations } from "./operations.ts";
import { createPins } from "./pins.ts";
import { prefixOf } from "./routes.ts";
import type { Tempo } from "./tempo.ts";
import { createWorld, type SimulatedServer, type WorldView } from "./world.ts";

export interface SimulatorOptions {
  /** Equal seeds and equal times give equal answers, to the byte. */
  readonly seed: number;
  readonly clock: Clock;
  readonly regions: readonly string[];
  readonly keys: readonly { readonly name: string; readonly apiKey: string }[];
  /** Servers in the listing of one key in one region. */
  readonly servers: number;
  /** For each key in each region. Null: none. Left out: two requests a second. */
  readonly rateLimit?: RateLimit | null | undefined;
  readonly faults?: readonly Fault[];
  /** What regions hold, by name, instead of what is made up. */
  readonly content?: Readonly<Record<string, RegionContent>> | undefined;
  /** How many times faster than usual statuses move and sandboxes are replaced. 0: never. */
  readonly pace?: number | Tempo;
}

export interface Simulator {
  /** Serves on one port, one path prefix a region; port 0 takes a free one. Gives the base addresses. */
  listen(at: {
    readonly host: string;
    readonly port: number;
  }): Promise<ReadonlyMap<string, string>>;
  /** Ends every connection, hanging ones too. */
  close(): Promise<void>;
  /** Replaces all faults. @throws {z.ZodError} when one is not of the schema */
  setFaults(faults: readonly Fault[]): void;
  /**
   * What a target's listing holds at a moment, with the pins of now and without any fault. Sandboxes that
   * were given as content are not among it, nor can they be pinned.
   */
  truth(target: Target, utcMs: number): Iterable<SimulatedServer>;
  /**
   * Makes a server show any string or null, or `absent` to vanish, until unpinned. It goes with its
   * sandbox, should that be replaced meanwhile.
   */
  pin(target: Target, serverId: string, status: string | null): void;
  unpin(target: Target, serverId: string): void;
  /** Ids with which the look-up operations find something. */
  knownIds(region: string): KnownIds;
}

const defaultRateLimit: RateLimit = { requests: 2, perMs: 1000 };

/** The watched service, simulated over HTTP. */
export function createSimulator(options: SimulatorOptions): Simulator {
  const { seed, clock, regions, keys, rateLimit = defaultRateLimit } = options;
  const content = new Map(Object.entries(options.content ?? {}));
  const world = createWorld(seed, options.pace ?? 1);
  const pins = createPins();
  const directories = new Map<string, Directory>();
  const directoryOf = (region: string): Directory => {
    const directory = directories.get(region) ?? createDirectory(seed, region, content.get(region));
    directories.set(region, directory);
    return directory;
  };
  const viewAt = (target: Target, utcMs: number): WorldView => {
    const { servers = options.servers, local_sandboxes: given } = content.get(target.region) ?? {};
    return { target, utcMs, servers, given, pins: pins.of(target) };
  };
  const faultBoard = createFaultBoard(options.faults ?? [], { clock, random: seededRandom(seed) });
  const exchange = createExchange({
    regions,
    clock,
    gate: createGate({ clock, keys, rateLimit }),
    faultBoard,
    operations: createOperations({
      world,
      viewOf: (target) => viewAt(target, clock.now().utcMs),
      directoryOf,
    }),
  });
  const server = createServer((request, response) => void exchange(request, response));
  // Clients keep their connections between polls; only `close` ends them.
  server.keepAliveTimeout = 0;

  return {
    async listen({ host, port }) {
      server.listen(port, hostToListen(host));
      await once(server, "listening");
      const address = server.address();
      const boundPort = typeof address === "object" && address ? address.port : port;
      const origin = localAddress({ host, port: boundPort });
      return new Map(regions.map((region) => [region, `${origin}${prefixOf(region)}`]));
    },
    async close() {
      if (!server.listening) return;
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
    setFaults: (faults) => faultBoard.set(faults),
    *truth(target, utcMs) {
      const view = viewAt(target, utcMs);
      if (view.given) return;
      for (const sandbox of world.sandboxes(view)) yield* sandbox.servers;
    },
    pin(target, serverId, status) {
      pins.pin(target, serverId, { status, sinceMs: clock.now().utcMs });
    },
    unpin: (target, serverId) => pins.unpin(target, serverId),
    knownIds: (region) => directoryOf(region).knownIds,
  };
}
