import { defineConfig } from "vitest/config";
import { patienceMs } from "./test/support/patience.ts";

export default defineConfig({
  test: {
    include: ["test/e2e/**/*.test.ts"],
    // Several of them wait for several things in a row, each with that patience.
    testTimeout: 3 * patienceMs,
    hookTimeout: patienceMs,
    fileParallelism: false,
  },
});
