import type { Receiving } from "./receiving.ts";
import { sampleCpu } from "./sampling.ts";
import type { Sampling } from "./sampling.ts";

export interface Floors {
  readonly receivesMs: number[];
  readonly parsesMs: number[];
}

/**
 * What a poll is held against: receiving a listing alone, and parsing it in the obvious way, as text. CPU in
 * ms. Apart from each other: what parsing leaves is collected while the next one runs.
 */
export async function measureFloors(
  receiving: Receiving,
  name: string,
  sampling: Sampling,
): Promise<Floors> {
  const receivesMs = await sampleCpu(sampling, () => receiving.drop(name));
  const body = await receiving.keep(name);
  const parsesMs = await sampleCpu(sampling, () => void JSON.parse(body.toString()));
  return { receivesMs, parsesMs };
}
