import { measureMeanCpu } from "./meters.ts";
import type { Receiving } from "./receiving.ts";

export interface Floors {
  readonly receivesMs: number[];
  readonly parsesMs: number[];
}

export interface Sampling {
  /** Calls before those that count. */
  readonly warmUps: number;
  readonly samples: number;
  /** In each sample, which is of their mean. */
  readonly calls: number;
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

/** CPU of one call, ms. */
export async function sampleCpu(
  { warmUps, samples, calls }: Sampling,
  work: () => unknown,
): Promise<number[]> {
  await measureMeanCpu(warmUps, work);
  const costsMs: number[] = [];
  for (let sample = 0; sample < samples; sample += 1) {
    costsMs.push(await measureMeanCpu(calls, work));
  }
  return costsMs;
}
