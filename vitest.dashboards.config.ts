import { defineConfig } from "vitest/config";

const minuteMs = 60_000;

export default defineConfig({
  test: {
    include: ["test/dashboards/**/*.test.ts"],
    experimental: { viteModuleRunner: false },
    // Installs, lives through a day, and draws.
    testTimeout: 10 * minuteMs,
  },
});
