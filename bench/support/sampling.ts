import { z } from "zod";
import { checkServers } from "./check.ts";
import type { MeasuredDaemon } from "./daemon.ts";
import { measureCpu } from "./meters.ts";
import type { Peer } from "./peer-client.ts";
import type { Step } from "./peer-messages.ts";

export const samplingSchema = z.object({
  /** Calls before those that count. */
  warmUps: z.number(),
  samples: z.number(),
  /** In each sample, which is of their mean. */
  calls: z.number(),
});

export type Sampling = Readonly<z.infer<typeof samplingSchema>>;

/** CPU of one call, ms. */
export async function sampleCpu(
  { warmUps, samples, calls }: Sampling,
  work: () => unknown,
): Promise<number[]> {
  await measureMean(warmUps, work);
  const costsMs: number[] = [];
  for (let sample = 0; sample < samples; sample += 1) {
    costsMs.push(await measureMean(calls, work));
  }
  return costsMs;
}

/**
 * With what goes on between calls. Garbage that one leaves is collected during another, or between two: of a
 * single call, all of that counts or nothing.
 */
async function measureMean(calls: number, work: () => unknown): Promise<number> {
  const costMs = await measureCpu(async () => {
    for (let call = 0; call < calls; call += 1) {
      await work();
      // What V8 and others put off until then.
      await new Promise((resolve) => setImmediate(resolve));
    }
  });
  return costMs / calls;
}

export interface Polled {
  readonly peer: Peer;
  readonly opened: MeasuredDaemon;
  /** Only polls, or also what else is due then: messages and upkeep. */
  readonly turn: "pollOnce" | "runOnce";
}

/**
 * CPU of one turn of "main", ms, each after a step. To ask for that, half a millisecond, counts as a part of it.
 * What the last one showed is checked.
 */
export async function samplePolls(
  sampling: Sampling,
  step: Step,
  { peer, opened, turn }: Polled,
): Promise<number[]> {
  let prepared = await peer.step("main", step);
  const costsMs = await sampleCpu(sampling, async () => {
    if (step.kind !== "same") prepared = await peer.step("main", step);
    await opened.daemon[turn]();
  });
  checkServers(await peer.scrape({ url: opened.url }), "main", prepared);
  return costsMs;
}
