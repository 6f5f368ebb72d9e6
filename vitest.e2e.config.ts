import { defineConfig } from "vitest/config";
import { longestFirst } from "./test/support/longest-first.ts";
import { testTimeoutMs } from "./test/support/test-timeout.ts";

export default defineConfig({
  test: {
    // The others run with `npm test`, too, but on SQLite alone.
    include: [
      "test/e2e/**/*.test.ts",
      "test/store/repositories/**/*.test.ts",
      "test/app/secrets.test.ts",
      "test/app/daemon-sandboxes.test.ts",
    ],
    globalSetup: ["test/support/bundle-programs.ts", "test/store/support/postgres-server.ts"],
    // Several of them wait for several things in a row, each with that patience.
    testTimeout: 3 * testTimeoutMs,
    hookTimeout: testTimeoutMs,
    // Each has programs of its own to wait for, most of the time.
    maxWorkers: 3,
    sequence: { sequencer: longestFirst("e2e/chaos.test.ts", "e2e/chaos-control.test.ts") },
  },
});
