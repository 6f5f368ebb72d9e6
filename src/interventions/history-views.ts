import { z } from "zod";
import type { StoredChange } from "../store/change-history.ts";
import { incidentView, timeText } from "./views.ts";

/** What the desk answers of what happened. */

export const changeView = z.object({
  at: z.string(),
  region: z.string(),
  key: z.string(),
  sandbox_id: z.string(),
  server_id: z.string(),
  server_name: z.string().nullable(),
  from: z.string(),
  to: z.string(),
  /** For how long it was in `from`; null where that was not watched from end to end. */
  stay_seconds: z.number().nullable(),
  /** Only where lapses were asked for: it did not change, but was missing or is seen again. */
  lapse: z.enum(["missing", "seen"]).nullable(),
});
export type ChangeView = z.output<typeof changeView>;

/** How a list goes on. */
const places = {
  /** `before` of the request for what follows; null: that is all. */
  next: z.string().nullable(),
  /** `after` of the request for what comes later. */
  after: z.string(),
  notes: z.array(z.string()).readonly(),
};

export const changesView = z.object({ changes: z.array(changeView).readonly(), ...places });
export type ChangesView = z.output<typeof changesView>;

export const incidentsView = z.object({ incidents: z.array(incidentView).readonly(), ...places });
export type IncidentsView = z.output<typeof incidentsView>;

export function viewChange(change: StoredChange): ChangeView {
  return {
    at: timeText(change.atMs),
    region: change.target.region,
    key: change.target.key,
    sandbox_id: change.sandboxId,
    server_id: change.serverId,
    server_name: change.serverName,
    from: change.from,
    to: change.to,
    stay_seconds: change.dwellMs === null ? null : change.dwellMs / 1_000,
    lapse: change.observation,
  };
}
