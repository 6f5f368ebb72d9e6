import type { HeldInterventions } from "../api/interventions.ts";
import type { Clock } from "../lib/clock.ts";
import { version } from "../lib/version.ts";
import type { Store } from "../store/store.ts";
import type { StatusView } from "../web/status-page.ts";

export interface DaemonStatusParts extends Pick<StatusView, "targets" | "probes" | "receivers"> {
  readonly store: Pick<Store, "untargeted" | "outbox">;
  readonly held: HeldInterventions;
  readonly clock: Pick<Clock, "now">;
}

/** What the status page shows, read when it is requested. */
export function createDaemonStatus({ store, held, clock, ...known }: DaemonStatusParts) {
  return async (): Promise<StatusView> => {
    const nowMs = clock.now().utcMs;
    return {
      ...known,
      version,
      nowMs,
      untargeted: await store.untargeted.open(),
      silences: held.inForce(nowMs),
      acknowledgedBy: (incidentId) => held.acknowledgedBy(incidentId),
      waiting: await store.outbox.figures(),
    };
  };
}
