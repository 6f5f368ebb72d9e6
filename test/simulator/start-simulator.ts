import { cleanUp } from "../support/share.ts";
import { z } from "zod";
import type { Target } from "../../src/fleet/model.ts";
import { createSimulator, type Simulator } from "../../src/simulator/simulator.ts";
import type { SimulatorOptions } from "../../src/simulator/simulator.ts";
import { createFakeClock, type FakeClock } from "../support/fake-clock.ts";

export const us: Target = { region: "us", key: "research" };

/** A fake clock that knows when somebody begins to wait on it. */
export interface WatchedClock extends FakeClock {
  /** Resolves once for every timer armed, in order, also for those armed before the call. */
  timerArmed(): Promise<void>;
}

export function createWatchedClock(): WatchedClock {
  const clock = createFakeClock();
  let notAwaited = 0;
  const waiting: (() => void)[] = [];
  return {
    ...clock,
    get armed() {
      return clock.armed;
    },
    setTimer(delayMs, callback) {
      const cancel = clock.setTimer(delayMs, callback);
      const resolve = waiting.shift();
      if (resolve) resolve();
      else notAwaited++;
      return cancel;
    },
    timerArmed() {
      if (notAwaited > 0) return Promise.resolve(void notAwaited--);
      return new Promise((resolve) => waiting.push(resolve));
    },
  };
}

interface How {
  readonly key?: string;
  readonly region?: string;
  readonly init?: RequestInit;
}

export interface Started {
  readonly simulator: Simulator;
  /** The base address of each region. */
  readonly bases: ReadonlyMap<string, string>;
  readonly clock: WatchedClock;
  /** Asks with a key, by default `research`, in a region, by default `us`. */
  readonly get: (path: string, how?: How) => Promise<Response>;
  /** Reads an answer that must be a listing to the letter. */
  readonly list: (how?: How) => Promise<WireListing>;
}

/** By default two regions, two keys, forty servers each and no rate limit. */
export async function startSimulator(options: Partial<SimulatorOptions> = {}): Promise<Started> {
  const clock = createWatchedClock();
  const simulator = createSimulator({
    seed: 7,
    clock,
    regions: ["us", "eu"],
    keys: ["research", "training"].map((name) => ({ name, apiKey: `${name}-key` })),
    servers: 40,
    rateLimit: null,
    ...options,
  });
  const bases = await simulator.listen({ host: "127.0.0.1", port: 0 });
  cleanUp(() => simulator.close());
  const get: Started["get"] = (path, { key = "research", region = "us", init = {} } = {}) =>
    fetch(`${bases.get(region)}${path}`, {
      headers: { authorization: `Bearer ${key}-key` },
      redirect: "manual",
      ...init,
    });
  const list: Started["list"] = async (how) =>
    listingSchema.parse(await (await get("/local-sandbox", how)).json());
  return { simulator, bases, clock, get, list };
}

const text = z.string().nullable();
const fields = z.record(z.string(), z.unknown()).nullable();
const timestamp = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}[+-]\d\d:00$/);

/** Strict: exactly the fields of the interface document, every one of them. */
const serverSchema = z.strictObject({
  id: z.uuidv4(),
  server_name: text,
  mcp_server_url: text,
  status: text,
  benchmark: text,
  updated_at: timestamp,
  metadata: fields,
  auth_data: fields,
  tags: z.array(z.string()).nullable(),
});
const sandboxSchema = z.strictObject({
  local_sandbox_id: z.uuidv4(),
  created_at: timestamp,
  status: text,
  benchmark: text,
  servers: z.array(serverSchema),
});
const listingSchema = z.strictObject({
  local_sandboxes: z.array(sandboxSchema),
  total_count: z.int(),
});
type WireListing = z.infer<typeof listingSchema>;

export function serversIn(listing: WireListing) {
  return listing.local_sandboxes.flatMap(({ servers }) => servers);
}
