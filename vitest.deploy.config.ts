import { defineConfig } from "vitest/config";
import { CountReporter } from "./test/deploy/support/count-reporter.ts";

const minuteMs = 60_000;

export default defineConfig({
  test: {
    include: ["test/deploy/**/*.test.ts"],
    globalSetup: ["test/deploy/support/engine.ts"],
    reporters: ["default", new CountReporter()],
    testTimeout: 5 * minuteMs,
    hookTimeout: 10 * minuteMs,
    // They share one engine and the ports of the Compose files.
    fileParallelism: false,
  },
});
