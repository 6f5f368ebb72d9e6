import { isChangeCursor } from "../store/change-history.ts";
import { isIncidentCursor } from "../store/incident-history.ts";

/** How far someone followed: a place among the changes, and one among the incidents. */
export interface EventPlace {
  readonly changes: string;
  readonly incidents: string;
}

export function eventPlaceText({ changes, incidents }: EventPlace): string {
  return `${changes},${incidents}`;
}

/** Undefined when it is no place. */
export function readEventPlace(text: string): EventPlace | undefined {
  const [changes = "", incidents = "", ...rest] = text.split(",");
  const isPlace = isChangeCursor(changes) && isIncidentCursor(incidents) && rest.length === 0;
  return isPlace ? { changes, incidents } : undefined;
}
