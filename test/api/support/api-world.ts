import type { z } from "zod";
import type { addSilence } from "../../../src/api/operations/silences.ts";
import { watchWorld } from "../../support/watched-world.ts";
import type { WatchedWorld } from "../../support/watched-world.ts";

/** A request that is as it should be. */
export const sound: z.input<typeof addSilence.request> = {
  match: { region: "us" },
  author: "ann",
  reason: "being moved",
  duration: "2h",
};

/** A world in which so many servers are in error. */
export async function erring(servers = 1): Promise<WatchedWorld> {
  const world = await watchWorld({ servers: Math.max(servers, 3) });
  await world.poll();
  for (let server = 0; server < servers; server += 1) world.show(server, "error");
  await world.poll();
  return world;
}
