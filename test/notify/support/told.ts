import type { OutboxItem } from "../../../src/core/notification.ts";
import { outboxItem } from "./items.ts";
import type { ReceiverServer } from "./receiver-server.ts";

/** Steps of an incident, each incident in a sandbox of its own. */
export const fire = (id: string): OutboxItem => outboxItem({ incident: { id, sandboxId: id } });
export const resolve = (id: string): OutboxItem =>
  outboxItem({ type: "incident.resolved", incident: { id, sandboxId: id } });

/** What the messages that came in told, as "firing a", in order. */
export function told(server: ReceiverServer): readonly string[] {
  return server.requests.map(({ body }) => {
    const { data } = JSON.parse(body);
    return data.incidents
      .map((incident: { state: string; id: string }) => `${incident.state} ${incident.id}`)
      .join(", ");
  });
}
