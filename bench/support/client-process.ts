import { z } from "zod";
import { tuneMemory } from "../../src/platform/tune-memory.ts";
import type { Floors } from "./floors.ts";
import { collectGarbage, measureCpu } from "./meters.ts";
import { createReceiving } from "./receiving.ts";
import { answerParent } from "./rpc.ts";
import { sampleCpu, samplingSchema } from "./sampling.ts";

const inFlight = 50;

const orderSchema = z.object({ origin: z.string(), name: z.string(), requests: z.number() });
type Order = z.infer<typeof orderSchema>;

const floorsOrderSchema = z.object({
  origin: z.string(),
  name: z.string(),
  sampling: samplingSchema,
});

/** The HTTP client in a process of its own, and `JSON.parse`: without anything that a daemon does. */
answerParent({
  /** CPU of one request, milliseconds. */
  async receive(params) {
    const order = orderSchema.parse(params);
    await collectGarbage();
    return (await measureCpu(() => receiveAll(order))) / order.requests;
  },
  /** Apart from each other: what parsing leaves is collected while the next one runs. */
  async floors(params): Promise<Floors> {
    const { origin, name, sampling } = floorsOrderSchema.parse(params);
    // As the daemon does.
    tuneMemory();
    await using receiving = createReceiving(origin);
    const receivesMs = await sampleCpu(sampling, () => receiving.drop(name));
    const body = await receiving.keep(name);
    const parsesMs = await sampleCpu(sampling, () => void JSON.parse(body.toString()));
    return { receivesMs, parsesMs };
  },
});

async function receiveAll({ origin, name, requests }: Order): Promise<void> {
  await using receiving = createReceiving(origin);
  let left = requests;
  const lane = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await receiving.drop(name);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
}
