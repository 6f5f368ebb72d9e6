import { expect } from "vitest";
import type { z } from "zod";
import type { addSilence } from "../../../src/api/operations/silences.ts";
import type { RefusalKind } from "../../../src/lib/refused-error.ts";
import { watchWorld, type WatchedWorld } from "../../support/watched-world.ts";

/** A valid request for a silence. */
export const sound: z.input<typeof addSilence.request> = {
  match: { region: "us" },
  author: "ann",
  reason: "being moved",
  duration: "2h",
};

/** A world in which servers are in error. */
export async function erring(servers = 1): Promise<WatchedWorld> {
  const world = await watchWorld({ servers: Math.max(servers, 3) });
  await world.poll();
  for (let server = 0; server < servers; server += 1) world.show(server, "error");
  await world.poll();
  return world;
}

/** A refusal with a message that contains a text. */
export function refusal(kind: RefusalKind, text = "") {
  return { kind, message: expect.stringContaining(text) };
}

/** Two ids of a list begin alike: this is how. */
export function sharedBeginning(ids: readonly string[]): string {
  const [alike] = Map.groupBy(ids, (id) => id[0] ?? "")
    .entries()
    .filter(([, of]) => of.length > 1);
  return alike?.[0] ?? "";
}
