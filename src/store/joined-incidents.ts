import type { Kysely } from "kysely";
import type { Target } from "../core/model.ts";
import type { Tables } from "./tables.ts";

/** Incidents, each with whose it is and what was said of it. */
export function selectJoinedIncidents(reader: Kysely<Tables>) {
  return reader
    .selectFrom("incidents")
    .leftJoin("targets", "targets.id", "incidents.target_id")
    .leftJoin("acknowledgements", "acknowledgements.incident_id", "incidents.id")
    .selectAll("incidents")
    .select([
      "targets.region as target_region",
      "targets.key as target_key",
      "acknowledgements.author as ack_author",
      "acknowledgements.note as ack_note",
      "acknowledgements.at_ms as ack_at_ms",
    ]);
}

/** @returns null for an incident of a pool or a receiver */
export function targetOf({
  target_region: region,
  target_key: key,
}: {
  readonly target_region: string | null;
  readonly target_key: string | null;
}): Target | null {
  return region === null || key === null ? null : { region, key };
}
