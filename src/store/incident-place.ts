import type { Kysely } from "kysely";
import type { Tables } from "./tables.ts";

/**
 * Where an incident is in the order in which they were last written. As text it is for others to hand
 * back, and for nothing else.
 */
export interface IncidentPlace {
  readonly revision: number;
  readonly id: string;
}

export function incidentPlaceText({ revision, id }: IncidentPlace): string {
  return `${revision}_${id}`;
}

/** Undefined when it is no place. */
export function readIncidentPlace(text: string): IncidentPlace | undefined {
  const [, revision, id] = /^(\d{1,15})_(.*)$/.exec(text) ?? [];
  return revision === undefined || id === undefined
    ? undefined
    : { revision: Number(revision), id };
}

/** The place of what was written last: nothing was written after it yet. */
export async function newestPlace(db: Kysely<Tables>): Promise<IncidentPlace> {
  const row = await db
    .selectFrom("incidents")
    .select(["revision", "id"])
    .orderBy("revision", "desc")
    .orderBy("id", "desc")
    .limit(1)
    .executeTakeFirst();
  return row ?? { revision: 0, id: "" };
}

/** For what is written next, within its transaction. */
export async function nextRevision(trx: Kysely<Tables>): Promise<number> {
  return (await newestPlace(trx)).revision + 1;
}
