import { Gauge } from "prom-client";
import type { Registry } from "prom-client";

/** A loop that must not fall silent. */
export interface LoopReading {
  readonly loop: string;
  /** UTC milliseconds. */
  readonly lastTurnAtMs: number;
  readonly intervalMs: number;
}

export function createLoopMetrics(
  registry: Registry,
  readLoops: () => readonly LoopReading[],
): void {
  new Gauge({
    name: "sandwatch_loop_last_turn_timestamp_seconds",
    help: "When a loop last ran, in seconds since 1970; of several parts, the most overdue one.",
    labelNames: ["loop"],
    registers: [registry],
    collect() {
      this.reset();
      for (const { loop, lastTurnAtMs } of readLoops()) this.set({ loop }, lastTurnAtMs / 1_000);
    },
  });
  new Gauge({
    name: "sandwatch_loop_interval_seconds",
    help: "The longest usual interval between two runs of the loop.",
    labelNames: ["loop"],
    registers: [registry],
    collect() {
      this.reset();
      for (const { loop, intervalMs } of readLoops()) this.set({ loop }, intervalMs / 1_000);
    },
  });
}
