import type { Acknowledgement } from "../alerts/acknowledgement.ts";
import type { Silence } from "../alerts/silence.ts";
import { createRowReading } from "./row-reading.ts";
import { readSilence, selectSilences } from "./silences.ts";
import { readConsistently } from "./sql-helpers.ts";
import type { Db } from "./tables.ts";

/** What people did about notifications. */
export interface StoredSuppressions {
  /** Those that have not ended. */
  readonly silences: readonly Silence[];
  /** Those of open incidents. They may be over. */
  readonly acknowledgements: readonly Acknowledgement[];
}

export function createStoredSuppressions(reader: Db, reading = createRowReading()) {
  return {
    read: (nowMs: number): Promise<StoredSuppressions> =>
      readConsistently(reader, async (trx) => {
        const silences = await selectSilences(trx).where("ends_at_ms", ">", nowMs).execute();
        const acknowledgements = await trx
          .selectFrom("incidents")
          .innerJoin("acknowledgements", "acknowledgements.incident_id", "incidents.id")
          .where("incidents.phase", "<>", "resolved")
          .select(["incident_id as incidentId", "author", "note", "at_ms as atMs"])
          .select(["ends_at_ms as endsAtMs", "ended_by as endedBy"])
          .execute();
        return {
          // One that is skipped has no effect: an extra notification is better than a missing one.
          silences: silences.flatMap((row) => readSilence(reading, row) ?? []),
          acknowledgements,
        };
      }),
  };
}
