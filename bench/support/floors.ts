import { join } from "node:path";
import { z } from "zod";
import { startHelper } from "./rpc.ts";
import type { Sampling } from "./sampling.ts";

const floorsSchema = z.object({
  receivesMs: z.array(z.number()),
  parsesMs: z.array(z.number()),
});

/** What a poll is held against: receiving a listing alone, and parsing it in the obvious way, as text. CPU in ms. */
export type Floors = z.infer<typeof floorsSchema>;

export interface FloorMeter extends AsyncDisposable {
  measure(name: string, sampling: Sampling): Promise<Floors>;
}

/**
 * In a process of its own: what parsing leaves there is not collected at the cost of a poll, nor do the
 * daemon's objects make a collection longer.
 *
 * @param nodeArguments those of the daemon, for a fair comparison
 */
export async function startFloors(
  origin: string,
  nodeArguments: readonly string[],
): Promise<FloorMeter> {
  const path = join(import.meta.dirname, "client-process.ts");
  const helper = await startHelper(path, ["--expose-gc", ...nodeArguments]);
  return {
    measure: (name, sampling) => helper.ask("floors", { origin, name, sampling }, floorsSchema),
    [Symbol.asyncDispose]: () => helper[Symbol.asyncDispose](),
  };
}
