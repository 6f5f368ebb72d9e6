import { measureCpu } from "./meters.ts";
import type { Receiving } from "./receiving.ts";

export interface Floors {
  readonly receivesMs: number[];
  readonly parsesMs: number[];
}

export interface FloorTurns {
  /** Before those that count. */
  readonly warmUps: number;
  readonly turns: number;
}

/**
 * What a poll is held against: receiving a listing alone, and parsing it in the obvious way, as text. CPU in
 * ms. Apart from each other: what parsing leaves is collected while the next one runs.
 */
export async function measureFloors(
  receiving: Receiving,
  name: string,
  turns: FloorTurns,
): Promise<Floors> {
  const receivesMs = await measureTurns(turns, () => receiving.drop(name));
  const body = await receiving.keep(name);
  const parsesMs = await measureTurns(turns, () => void JSON.parse(body.toString()));
  return { receivesMs, parsesMs };
}

async function measureTurns(
  { warmUps, turns }: FloorTurns,
  work: () => unknown,
): Promise<number[]> {
  const costsMs: number[] = [];
  for (let turn = 0; turn < warmUps + turns; turn += 1) {
    const costMs = await measureCpu(work);
    if (turn >= warmUps) costsMs.push(costMs);
  }
  return costsMs;
}
