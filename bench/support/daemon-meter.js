// Runs in the daemon's process, given to it by `--import`: answers its parent with what the process took. Plain
// JavaScript, as stripping types would take memory there.
import { readFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const delay = monitorEventLoopDelay({ resolution: 1 });

process.on("message", (order) => {
  if (order === "watch") {
    delay.reset();
    delay.enable();
  }
  if (order === "unwatch") delay.disable();
  if (order === "collect") collectGarbage();
  const { user, system } = process.cpuUsage();
  process.send?.({
    cpuMs: (user + system) / 1_000,
    residentBytes: process.memoryUsage.rss(),
    peakBytes: peakBytes(),
    delay: { p99Ms: delay.percentile(99) / 1e6, maxMs: delay.max / 1e6 },
    ...(order === "collect" && { kept: kept() }),
  });
});
// A bench that is killed leaves no daemon behind.
process.on("disconnect", () => process.kill(process.pid, "SIGTERM"));
process.channel?.unref();

function collectGarbage() {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc");
  // The first one runs finalizers that let go of more.
  collect();
  collect();
}

function kept() {
  const { heapUsed, external } = process.memoryUsage();
  const handles = {};
  for (const kind of process.getActiveResourcesInfo()) handles[kind] = (handles[kind] ?? 0) + 1;
  return { heapBytes: heapUsed, externalBytes: external, handles };
}

function peakBytes() {
  try {
    const [, kibibytes] =
      /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
    return Number(kibibytes) * 1_024;
  } catch {
    // Not Linux. What was resident of the parent when it forked counts there, too.
    return process.resourceUsage().maxRSS * 1_024;
  }
}
