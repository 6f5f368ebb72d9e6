import { defineConfig } from "vitest/config";
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
    // One less than the cores there are would be one alone where there are two.
    maxWorkers: "100%",
    globalSetup: ["test/support/bundle-programs.ts"],
    testTimeout: testTimeoutMs,
    hookTimeout: testTimeoutMs,
  },
});
