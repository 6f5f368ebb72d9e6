import { monitorEventLoopDelay } from "node:perf_hooks";
import { z } from "zod";

/** CPU that this process took, user and system, over all its threads. Milliseconds. */
export async function measureCpu(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  return toMs(process.cpuUsage(before));
}

/** CPU of the main thread alone, milliseconds. */
export function mainThreadCpuMs(): number {
  return toMs(process.threadCpuUsage());
}

export function cpuMs(): number {
  return toMs(process.cpuUsage());
}

function toMs({ user, system }: NodeJS.CpuUsage): number {
  return (user + system) / 1_000;
}

export const loopDelaySchema = z.object({ p999Ms: z.number(), maxMs: z.number() });

/** How late a timer of 1 ms fires. */
export type LoopDelay = z.infer<typeof loopDelaySchema>;

export interface LoopDelayMeter {
  start(): void;
  stop(): LoopDelay;
}

export function createLoopDelayMeter(): LoopDelayMeter {
  const histogram = monitorEventLoopDelay({ resolution: 1 });
  return {
    start() {
      histogram.reset();
      histogram.enable();
    },
    stop() {
      histogram.disable();
      return { p999Ms: histogram.percentile(99.9) / 1e6, maxMs: histogram.max / 1e6 };
    },
  };
}

/** Collects garbage, a few times, for what is only freed by finalizers. Needs `--expose-gc`. */
export async function collectGarbage(times = 1): Promise<void> {
  if (!globalThis.gc) throw new Error("this process needs --expose-gc");
  for (let time = 0; time < times; time += 1) {
    globalThis.gc();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Resident memory once nothing more is going to be given back. Bytes. */
export async function settledMemoryBytes(): Promise<number> {
  await collectGarbage(3);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  await collectGarbage(2);
  return process.memoryUsage.rss();
}

/**
 * The most that was ever resident of this process, bytes. Where there is no `/proc`, at least what was
 * resident of the process that spawned it: that goes on counting there.
 */
export function peakMemoryBytes(): number {
  try {
    const status = process.getBuiltinModule("node:fs").readFileSync("/proc/self/status", "utf8");
    const [, kibibytes] = /^VmHWM:\s+(\d+) kB$/m.exec(status) ?? [];
    if (kibibytes !== undefined) return Number(kibibytes) * 1_024;
  } catch {
    // Not Linux.
  }
  return process.resourceUsage().maxRSS * 1_024;
}
