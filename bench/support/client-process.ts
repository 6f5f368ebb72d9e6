import { z } from "zod";
import { collectGarbage, measureCpu } from "./meters.ts";
import { createReceiving } from "./receiving.ts";
import { answerParent } from "./rpc.ts";

const inFlight = 50;

const orderSchema = z.object({ origin: z.string(), name: z.string(), requests: z.number() });
type Order = z.infer<typeof orderSchema>;

/** The HTTP client in a process of its own: it can be measured while a daemon polls. */
answerParent({
  /** CPU of one request, milliseconds. */
  async receive(params) {
    const order = orderSchema.parse(params);
    await collectGarbage();
    return (await measureCpu(() => receiveAll(order))) / order.requests;
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
