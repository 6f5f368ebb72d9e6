import { defineConfig } from "vitest/config";
import { testTimeoutMs } from "./test/support/test-timeout.ts";

export default defineConfig({
  test: {
    include: ["test/crash/every-statement*.test.ts"],
    maxWorkers: "100%",
    globalSetup: ["test/support/bundle-programs.ts", "test/store/support/postgres-server.ts"],
    // They start hundreds of processes one after the other.
    testTimeout: 10 * testTimeoutMs,
  },
});
