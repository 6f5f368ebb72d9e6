import type { Notification, OutboxItem, ToldIncident } from "../core/notification.ts";

/** The store alone writes bodies. Those of an earlier version lack what was not known then. */
export function readItem(body: string): OutboxItem {
  const item: OutboxItem = JSON.parse(body);
  return {
    ...item,
    summaryTemplate: item.summaryTemplate ?? null,
    runbookUrlTemplate: item.runbookUrlTemplate ?? null,
    incident: completed(item.incident),
  };
}

export function readNotification(body: string): Notification {
  const notification: Notification = JSON.parse(body);
  return {
    ...notification,
    runbookUrl: notification.runbookUrl ?? null,
    incidents: notification.incidents.map(completed),
  };
}

function completed(incident: ToldIncident): ToldIncident {
  return {
    ...incident,
    receiver: incident.receiver ?? null,
    probe: incident.probe ?? null,
    flapping: incident.flapping ?? false,
    acknowledgedBy: incident.acknowledgedBy ?? null,
  };
}
