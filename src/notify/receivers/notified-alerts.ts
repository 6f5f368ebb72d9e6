import { acknowledgementAt, type Acknowledgement } from "../../alerts/acknowledgement.ts";
import { currentItem, type Incident } from "../../alerts/incident.ts";
import type { ItemText, OutboxItem } from "../../alerts/notification.ts";
import type { Target } from "../../fleet/model.ts";

export interface NotifiedAlert {
  /** Null for an incident of a pool or a receiver. */
  readonly target: Target | null;
  readonly incident: Incident;
  /** It may be over. */
  readonly acknowledgement: Acknowledgement | null;
}

/** What a receiver that is notified of states, not of changes, needs of the store. */
export interface NotifiedAlerts {
  /**
   * The incidents that the receiver was notified of and that are firing, or were resolved at or after a moment (UTC
   * milliseconds).
   *
   * @param about only these incidents and others of the same rules and subjects; the result may contain more
   */
  notifiedTo(
    receiver: string,
    resolvedSinceMs: number,
    about: readonly string[] | "all",
  ): Promise<readonly NotifiedAlert[]>;
  /** The firing incidents of a rule that the receiver was notified of. */
  firingOf(receiver: string, rule: string): Promise<readonly NotifiedAlert[]>;
  /** By incident id. Without incidents whose notifications are not kept any more. */
  textsOf(receiver: string, incidentIds: readonly string[]): Promise<ReadonlyMap<string, ItemText>>;
}

export interface CurrentAlert extends NotifiedAlert {
  readonly text: ItemText | null;
}

/** With the texts of their last notifications. */
export async function withTexts(
  store: Pick<NotifiedAlerts, "textsOf">,
  receiver: string,
  alerts: readonly NotifiedAlert[],
): Promise<readonly CurrentAlert[]> {
  const texts = await store.textsOf(
    receiver,
    alerts.map(({ incident }) => incident.id),
  );
  return alerts.map((alert) => ({ ...alert, text: texts.get(alert.incident.id) ?? null }));
}

/** The item that would notify of it as it is now. */
export function alertItem(
  { target, incident, acknowledgement, text }: CurrentAlert,
  nowMs: number,
): OutboxItem {
  const atMs = incident.resolvedAtMs ?? nowMs;
  const author = acknowledgementAt(acknowledgement, atMs)?.author ?? null;
  return currentItem(target, incident, author, text);
}
