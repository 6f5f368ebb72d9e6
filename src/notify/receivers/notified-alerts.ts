import { acknowledgementAt } from "../../alerts/acknowledgement.ts";
import { currentItem } from "../../alerts/incident.ts";
import type { ItemText, OutboxItem } from "../../alerts/notification.ts";
import type { NotifiedAlert, NotifiedAlerts } from "../../store/receiver-state.ts";

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
