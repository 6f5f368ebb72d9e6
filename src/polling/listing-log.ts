import { targetName } from "../fleet/model.ts";
import type { Target } from "../fleet/model.ts";
import type { Logger } from "../lib/logger.ts";
import type { TakenListing } from "../service/client.ts";
import { describeUnkept } from "../service/listing-reader.ts";
import type { Unkept } from "../service/listed-sandbox.ts";

/** What the log said of a target's last listing. */
export interface LoggedListing {
  readonly isPartial: boolean;
  /** Keys of the items and texts that cannot be kept. */
  readonly unkept: ReadonlySet<string>;
}

export const noListing: LoggedListing = { isPartial: false, unkept: new Set() };

/**
 * Logs when a target's listings become partial and complete again, and each item that cannot be kept once, as
 * long as the listings show it.
 */
export function logListing(
  log: Logger,
  target: Target,
  { partial, unkept }: Pick<TakenListing, "partial" | "unkept">,
  last: LoggedListing,
): LoggedListing {
  const name = targetName(target);
  const items = new Map(withKeys(unkept.first));
  for (const [key, item] of items) {
    if (last.unkept.has(key)) continue;
    const { place, problem, found, sandboxId: sandbox_id, serverId: server_id } = item;
    const fields = { ...target, sandbox_id, server_id, place, problem, found };
    const message = `${name}: ${describeUnkept(item)}; ${consequenceOf(item)}`;
    log.warn({ event: "listing.item_not_kept", ...fields }, message);
  }
  if (partial !== null && !last.isPartial) {
    log.warn(
      { event: "listing.partial", ...target, detail: partial, not_kept: unkept.count },
      `${name}: the listing is partial: ${partial}`,
    );
  } else if (partial === null && last.isPartial) {
    log.info({ event: "listing.complete", ...target }, `${name}: the listing is complete again`);
  }
  return { isPartial: partial !== null, unkept: new Set(items.keys()) };
}

/** The indexes in its place are not part of an item's key: it moves when others come and go before it. */
function* withKeys(items: readonly Unkept[]): Iterable<readonly [string, Unkept]> {
  const counts = new Map<string, number>();
  for (const item of items) {
    const { place, problem, found, sandboxId, serverId } = item;
    const field = place.replaceAll(/\[\d+\]/g, "[]");
    const base = JSON.stringify([field, problem, found, sandboxId, serverId]);
    const count = (counts.get(base) ?? 0) + 1;
    counts.set(base, count);
    yield [`${base} ${count}`, item];
  }
}

function consequenceOf({ lost, serverId }: Unkept): string {
  return lost === null
    ? `the ${serverId === null ? "sandbox" : "server"} is watched without that text, and the listing is partial`
    : `this ${lost} is not watched, and the listing is partial`;
}
