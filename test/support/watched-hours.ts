import { watchWorld, type WatchedWorld, type WorldOptions } from "./watched-world.ts";

const betweenMs = 5 * 60_000;

/** Two regions that were polled for two hours until noon, but for twenty minutes in between. */
export async function watchHours(options: WorldOptions = {}): Promise<WatchedWorld> {
  const world = await watchWorld({
    startsAtMs: Date.parse("2026-11-20T10:00:00Z"),
    regions: ["us", "eu"],
    every: "5m",
    ...options,
  });
  world.show(0, "occupied");
  world.show(1, "error");
  for (let poll = 0; poll <= 24; poll += 1) {
    if (poll === 8) world.fail({ kind: "malformed" });
    if (poll === 12) world.fail();
    await world.daemon().runOnce();
    if (poll < 24) world.clock.advance(betweenMs);
  }
  return world;
}
