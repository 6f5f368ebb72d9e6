import type { Exposition } from "./exposition-reader.ts";
import type { Prepared } from "./peer-messages.ts";

/** @throws {Error} unless they are equal: a daemon that does nothing would be fast */
export function checkEqual(what: string, found: number, expected: number): void {
  if (found !== expected) throw new Error(`${what}: ${found} instead of ${expected}`);
}

/** @throws {Error} unless a region's aggregates are those of the listing */
export function checkServers(exposition: Exposition, region: string, { counts }: Prepared): void {
  const found = exposition.servers[region] ?? {};
  for (const [status, expected] of Object.entries(counts)) {
    checkEqual(`servers shown as ${status} in ${region}`, found[status] ?? 0, expected);
  }
}
