import type { Kysely } from "kysely";
import { lastSequence } from "./commit-sequence.ts";
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

/** Where no incident is: all of them come later. */
export const beforeAll: IncidentPlace = { revision: 0, id: "" };

/** An id that no incident has, and behind all of them. */
const behindAll = "~";

/** The place of what was written last: nothing was written after it yet. */
export async function newestPlace(db: Kysely<Tables>): Promise<IncidentPlace> {
  return { revision: await lastSequence(db), id: behindAll };
}
