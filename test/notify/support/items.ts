import {
  plainText,
  type NotifiedIncident,
  type OutboxItem,
} from "../../../src/alerts/notification.ts";
import { startMs } from "../../support/fleet.ts";
import type { ReceiverServer } from "./receiver-server.ts";

export { startMs };

export function incidentOf(more: Partial<NotifiedIncident> = {}): NotifiedIncident {
  return {
    id: "incident-1",
    state: "firing",
    subject: "server",
    trouble: null,
    region: "us",
    key: "research",
    sandboxId: "sandbox-1",
    // Every incident of a test is about a server of its own, unless the test says otherwise.
    serverId: (more.id ?? "incident-1").replace("incident-", "server-"),
    serverName: "github",
    benchmark: null,
    status: "error",
    previousStatus: "occupied",
    startedAtMs: startMs,
    resolvedAtMs: null,
    resolvedReason: null,
    receiver: null,
    probe: null,
    flapping: false,
    acknowledgedBy: null,
    ...more,
  };
}

type ItemFields = Partial<Omit<OutboxItem, "incident">> & {
  readonly incident?: Partial<NotifiedIncident>;
};

export function outboxItem({ incident, ...more }: ItemFields = {}): OutboxItem {
  const resolved =
    more.type === "incident.resolved" &&
    ({ state: "resolved", resolvedAtMs: startMs + 60_000, resolvedReason: "recovered" } as const);
  return {
    receiver: "oncall",
    type: "incident.firing",
    rule: "server-error",
    severity: "critical",
    condition: "in error",
    ...plainText,
    causedAtMs: startMs,
    ...more,
    incident: incidentOf({ ...resolved, ...incident }),
  };
}

/** Changes of an incident, each incident in a sandbox of its own. */
export const fire = (id: string): OutboxItem => outboxItem({ incident: { id, sandboxId: id } });
export const resolve = (id: string): OutboxItem =>
  outboxItem({ type: "incident.resolved", incident: { id, sandboxId: id } });
export const fireMany = (count: number): OutboxItem[] =>
  Array.from({ length: count }, (_, n) => fire(`i${n}`));

/** What was sent to a webhook, as "firing a", in order. */
export function sentTo(server: ReceiverServer): readonly string[] {
  return server.requests.map(({ body }) => {
    const { data }: { data: { incidents: { state: string; id: string }[] } } = JSON.parse(body);
    return data.incidents.map(({ state, id }) => `${state} ${id}`).join(", ");
  });
}
