import { createLoopDelayMeter, measureCpu } from "./meters.ts";
import type { Measurement } from "./scenario.ts";

export interface Turns {
  /** CPU, milliseconds. */
  readonly costs: number[];
  /** The longest that the event loop stood still, milliseconds. */
  readonly delays: number[];
}

export async function measureTurns(work: () => Promise<unknown>, count = 3): Promise<Turns> {
  const costs: number[] = [];
  const delays: number[] = [];
  for (let turn = 0; turn < count; turn += 1) {
    const meter = createLoopDelayMeter();
    meter.start();
    costs.push(await measureCpu(work));
    delays.push(meter.stop().maxMs);
  }
  return { costs, delays };
}

export function rowsOfTurns(what: string, { costs, delays }: Turns): Measurement[] {
  return [
    { what: `CPU of ${what}`, unit: "ms", samples: costs },
    { what: `the longest that the event loop stood still, ${what}`, unit: "ms", samples: delays },
  ];
}
