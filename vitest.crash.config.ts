import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/crash/every-statement.test.ts"],
    testTimeout: 300_000,
  },
});
