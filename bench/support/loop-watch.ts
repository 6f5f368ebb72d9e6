import { join } from "node:path";
import { z } from "zod";
import { createLoopDelayMeter, loopDelaySchema } from "./meters.ts";
import type { LoopDelay } from "./meters.ts";
import { startHelper } from "./rpc.ts";

export interface WatchedDelay {
  readonly own: LoopDelay;
  readonly control: LoopDelay;
}

/** This process's event-loop delay beside that of one which is idle, over the same time. */
export interface LoopWatch extends AsyncDisposable {
  start(): Promise<void>;
  stop(): Promise<WatchedDelay>;
}

export async function createLoopWatch(): Promise<LoopWatch> {
  const helper = await startHelper(join(import.meta.dirname, "control.ts"));
  const meter = createLoopDelayMeter();
  return {
    async start() {
      await helper.ask("start", null, z.unknown());
      meter.start();
    },
    async stop() {
      const own = meter.stop();
      return { own, control: await helper.ask("stop", null, loopDelaySchema) };
    },
    [Symbol.asyncDispose]: () => helper[Symbol.asyncDispose](),
  };
}
