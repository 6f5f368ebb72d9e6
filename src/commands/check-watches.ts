import type { Config } from "../config/config.ts";
import { configuredTargets } from "../config/configured-targets.ts";
import type { Target } from "../core/model.ts";
import { RefusedError } from "../core/refusal.ts";
import type { Desk } from "../interventions/desk.ts";
import { createDeskClient } from "./desk-client.ts";

/**
 * Makes sure that the sandwatch at the configured address is the one that the configuration means:
 * several may run on a machine, and two files with the default address name the same one.
 *
 * @throws {RefusedError} when it watches none of the configured targets
 */
export async function checkWatches(
  config: Config,
  address: string,
  desk: Pick<Desk, "targets"> = createDeskClient(address),
): Promise<void> {
  const configured = new Set(configuredTargets(config).map(textOf));
  for (let cursor: string | null | undefined; cursor !== null;) {
    // Where it is the one that is meant, the first is enough.
    const page = cursor === undefined ? { limit: 1 } : { limit: targetsAtOnce, cursor };
    const { targets, next } = await desk.targets(page);
    if (targets.some((target) => configured.has(textOf(target)))) return;
    cursor = next;
  }
  throw new RefusedError(
    "conflict",
    `The sandwatch at ${address} watches nothing that the configuration names: it is another one, or it was started or reloaded with other names.\nIf it is meant all the same, give --url ${address}. Otherwise give the address of the one that is meant, with --url or as http.listen.`,
  );
}

const targetsAtOnce = 1_000;

function textOf({ region, key }: Target): string {
  return JSON.stringify([region, key]);
}
