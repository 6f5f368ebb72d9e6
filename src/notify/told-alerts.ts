import type { Incident } from "../core/incident.ts";
import type { Target } from "../core/model.ts";
import type { OutboxItem } from "../core/notification.ts";

/** An incident that a receiver was told of, as it stands now. */
export interface ToldAlert {
  /** Null for an incident of a pool or a receiver. */
  readonly target: Target | null;
  readonly incident: Incident;
  readonly acknowledgedBy: string | null;
}

/** What was last said of an incident, beside the incident itself. */
export type AlertWords = Pick<OutboxItem, "condition" | "summaryTemplate" | "runbookUrlTemplate">;

/** What a receiver that is told of states, not of steps, needs of the store. */
export interface ToldAlerts {
  /**
   * The incidents told to the receiver that fire, or were resolved at or after a moment (UTC
   * milliseconds).
   *
   * @param about only these incidents and others of the same rules and subjects; more may be given
   */
  toldTo(
    receiver: string,
    resolvedSinceMs: number,
    about: readonly string[] | "all",
  ): Promise<readonly ToldAlert[]>;
  /** By incident id; none for an incident of which nothing is kept. */
  wordsOf(
    receiver: string,
    incidentIds: readonly string[],
  ): Promise<ReadonlyMap<string, AlertWords>>;
}
