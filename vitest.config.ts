import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { longestFirst } from "./test/support/longest-first.ts";
import { testTimeoutMs } from "./test/support/test-timeout.ts";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: [
      "test/e2e/**",
      "test/deploy/**",
      "test/dashboards/**",
      "test/crash/every-statement*.test.ts",
    ],
    // No file leaves anything behind for the next: loading everything anew for each cost 25 s and more.
    isolate: false,
    // Node.js runs the files as they are. Rewritten by Vite, each use of an import is a call.
    experimental: { viteModuleRunner: false },
    // Some wait for processes and sockets, about a seventh of the time.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: longestFirst("sim/sim.test.ts", "crash/crash.test.ts") },
    globalSetup: ["test/support/bundle-programs.ts"],
    testTimeout: testTimeoutMs,
    hookTimeout: testTimeoutMs,
  },
});
