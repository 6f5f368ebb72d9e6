import { Buffer } from "node:buffer";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout } from "node:timers/promises";
import { Pool } from "undici";
import { z } from "zod";
import { freeSoon } from "../../src/service/http-get.ts";
import { answerParent } from "./helper.ts";

/** What figures are held against, in a process of its own with Node's default flags. */
const orderSchema = z.object({
  origin: z.string(),
  name: z.string(),
  requests: z.number(),
  /** How many at a time. */
  atOnce: z.number(),
});
type Order = z.infer<typeof orderSchema>;

const delay = monitorEventLoopDelay({ resolution: 1 });

answerParent({
  /** CPU of one request of the HTTP client alone, which drops the bytes. Milliseconds. */
  receive: (params) => receive(orderSchema.parse(params)),
  /** The same where as many as `atOnce` are begun every 100 ms. */
  pace: (params) => pace(orderSchema.parse(params)),
  /** CPU of `JSON.parse` of a listing, as text. Milliseconds. */
  async parse(params) {
    const order = orderSchema.parse(params);
    const chunks: Buffer[] = [];
    const pool = openPool(order.origin);
    await request(pool, order.name, (chunk) => chunks.push(Buffer.from(chunk)));
    await pool.close();
    const body = Buffer.concat(chunks);
    return meanCpuMs(order.requests, () => void JSON.parse(body.toString()));
  },
  /** This process does nothing while it is watched: how late its event loop gets is the machine's doing. */
  watch() {
    delay.reset();
    delay.enable();
  },
  unwatch() {
    delay.disable();
    return delay.percentile(99) / 1e6;
  },
});

async function receive({ origin, name, requests, atOnce }: Order): Promise<number> {
  const pool = openPool(origin);
  let left = requests;
  const costMs = await meanCpuMs(1, async () => {
    const worker = async (): Promise<void> => {
      // As the daemon does.
      while (left-- > 0) await request(pool, name, freeSoon);
    };
    await Promise.all(Array.from({ length: atOnce }, worker));
  });
  await pool.close();
  return costMs / requests;
}

async function pace({ origin, name, requests, atOnce }: Order): Promise<number> {
  const pool = openPool(origin);
  const sent: Promise<void>[] = [];
  const costMs = await meanCpuMs(1, async () => {
    const beganMs = performance.now();
    for (let batch = 1; sent.length < requests; batch += 1) {
      const most = Math.min(requests, batch * atOnce);
      while (sent.length < most) sent.push(request(pool, name, freeSoon));
      await setTimeout(Math.max(0, beganMs + batch * 100 - performance.now()));
    }
    await Promise.all(sent);
  });
  await pool.close();
  return costMs / requests;
}

function openPool(origin: string): Pool {
  return new Pool(origin, { headersTimeout: 0, bodyTimeout: 0 });
}

async function meanCpuMs(calls: number, work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  for (let call = 0; call < calls; call += 1) {
    await work();
    // What is put off until then.
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000 / calls;
}

function request(pool: Pool, name: string, take: (chunk: Buffer) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    pool.dispatch(
      { method: "GET", path: `/floor/${name}` },
      {
        onRequestStart() {},
        onResponseStart(_controller, status) {
          if (status !== 200) reject(new Error(`HTTP ${status}`));
        },
        onResponseData: (_controller, chunk) => take(chunk),
        onResponseEnd: () => resolve(),
        onResponseError: (_controller, error) => reject(error),
      },
    );
  });
}
