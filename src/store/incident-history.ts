import type { Kysely, Selectable } from "kysely";
import type { Acknowledgement } from "../core/acknowledgement.ts";
import type { Incident } from "../core/incident.ts";
import type { Target } from "../core/model.ts";
import { incidentFromRow } from "./incident-rows.ts";
import { selectJoinedIncidents, targetOf } from "./joined-incidents.ts";
import type { ListPlace } from "./silences.ts";
import type { IncidentsTable, Tables } from "./tables.ts";

/** An incident with whose it is and what was said of it. */
export interface StoredIncident {
  readonly incident: Incident;
  /** Null for one of a pool or a receiver. */
  readonly target: Target | null;
  readonly acknowledgement: Acknowledgement | null;
}

export interface IncidentPageQuery {
  /** Empty: all. */
  readonly phases: readonly Incident["phase"]["name"][];
  /** Empty: all. */
  readonly rules: readonly string[];
  readonly limit: number;
  /** Only those that began before this one. */
  readonly before: ListPlace | null;
}

/** A server that had an incident at some time. */
export interface KnownServer {
  readonly serverId: string;
  readonly serverName: string | null;
}

/** What incidents there are and were, read beside whatever is being written. */
export function createIncidentHistory(reader: Kysely<Tables>) {
  const selectIncidents = () => selectJoinedIncidents(reader);

  return {
    /** Latest begun first. */
    async page(query: IncidentPageQuery): Promise<readonly StoredIncident[]> {
      let select = selectIncidents();
      if (query.phases.length > 0) select = select.where("incidents.phase", "in", query.phases);
      if (query.rules.length > 0) select = select.where("incidents.rule", "in", query.rules);
      if (query.before) {
        const { atMs, id } = query.before;
        select = select.where((where) =>
          where.or([
            where("incidents.started_at_ms", "<", atMs),
            where.and([
              where("incidents.started_at_ms", "=", atMs),
              where("incidents.id", "<", id),
            ]),
          ]),
        );
      }
      const rows = await select
        .orderBy("incidents.started_at_ms", "desc")
        .orderBy("incidents.id", "desc")
        .limit(query.limit)
        .execute();
      return rows.map(readIncident);
    },

    /** Those whose id begins like this, at most a few: enough to tell that it is not unique. */
    async beginningWith(prefix: string, limit: number): Promise<readonly StoredIncident[]> {
      const rows = await selectIncidents()
        .where("incidents.id", ">=", prefix)
        .where("incidents.id", "<", `${prefix}\u{10ffff}`)
        .orderBy("incidents.id")
        .limit(limit)
        .execute();
      return rows.map(readIncident);
    },

    /** Of a server, latest begun first. */
    async ofServer(serverId: string, limit: number): Promise<readonly StoredIncident[]> {
      const rows = await selectIncidents()
        .where("incidents.server_id", "=", serverId)
        .orderBy("incidents.started_at_ms", "desc")
        .limit(limit)
        .execute();
      return rows.map(readIncident);
    },

    /** Servers whose id begins like this. */
    async serversBeginningWith(prefix: string, limit: number): Promise<readonly KnownServer[]> {
      const rows = await reader
        .selectFrom("incidents")
        .select(({ fn }) => ["server_id", fn.max("server_name").as("server_name")])
        .where("server_id", "is not", null)
        .where("server_id", ">=", prefix)
        .where("server_id", "<", `${prefix}\u{10ffff}`)
        .groupBy("server_id")
        .limit(limit)
        .execute();
      return rows.map((row) => ({ serverId: row.server_id ?? "", serverName: row.server_name }));
    },
  };
}

interface JoinedRow extends Selectable<IncidentsTable> {
  readonly target_region: string | null;
  readonly target_key: string | null;
  readonly ack_author: string | null;
  readonly ack_note: string | null;
  readonly ack_at_ms: number | null;
}

function readIncident(row: JoinedRow): StoredIncident {
  const { ack_author: author, ack_at_ms: atMs } = row;
  return {
    incident: incidentFromRow(row),
    target: targetOf(row),
    acknowledgement:
      author === null || atMs === null
        ? null
        : { incidentId: row.id, author, note: row.ack_note, atMs },
  };
}
