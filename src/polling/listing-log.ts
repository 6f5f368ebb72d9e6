import { targetName } from "../core/model.ts";
import type { Logger } from "../platform/logger.ts";
import { describeUnkept } from "../service/unkept.ts";
import type { Unkept } from "../service/unkept.ts";
import type { PollingObserver } from "./polling.ts";

interface Logged {
  isPartial: boolean;
  /** Of the items and texts of the last listing that cannot be kept. */
  unkept: ReadonlySet<string>;
}

/**
 * Logs when a target's listings become partial and complete again, and each item that cannot be kept
 * once, as long as the listings show it.
 */
export function createListingLog(log: Logger): PollingObserver["listed"] {
  const byTarget = new Map<string, Logged>();
  return (target, { partial, unkept }) => {
    const name = targetName(target);
    const last = byTarget.get(name) ?? { isPartial: false, unkept: new Set() };
    const known = new Map(withKeys(unkept.first));
    byTarget.set(name, { isPartial: partial !== null, unkept: new Set(known.keys()) });
    for (const [key, item] of known) {
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
  };
}

/**
 * With what tells them apart. Their places are not in it: an item moves when others come and go before
 * it, and is still the same.
 */
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
