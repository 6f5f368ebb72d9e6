import { onTestFinished } from "vitest";
import { startPostgresProxy } from "../../support/postgres-proxy.ts";

/** The proxy, gone when the test ends. */
export async function startCuttingProxy(...args: Parameters<typeof startPostgresProxy>) {
  const proxy = await startPostgresProxy(...args);
  onTestFinished(() => proxy.close());
  return proxy;
}
