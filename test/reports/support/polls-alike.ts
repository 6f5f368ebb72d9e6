import type { RecordedTarget, ListedServer } from "../../support/recorded-history.ts";

export const research = { region: "us", key: "research" };

export const occupied: ListedServer = { id: "a", name: "git", status: "occupied" };
export const idle: ListedServer = { id: "b", name: "git", status: "idle" };

/** Polls every five minutes, each of which shows the same. */
export function watch(
  target: RecordedTarget,
  { from, to }: { from: string; to: string },
  servers: readonly ListedServer[] = [occupied, idle],
): void {
  for (let atMs = Date.parse(from); atMs <= Date.parse(to); atMs += 5 * 60_000) {
    target.poll(atMs, { kind: "all", servers });
  }
}
