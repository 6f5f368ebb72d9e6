import type {
  IncidentMessage,
  OutboxItem,
  NotifiedIncident,
} from "../../../src/alerts/notification.ts";
import type { ReceiverServer } from "./receiver-server.ts";

/** The moment at which fake clocks start. */
export const startMs = Date.UTC(2026, 10, 20, 9, 30);

export function toldIncident(more: Partial<NotifiedIncident> = {}): NotifiedIncident {
  return {
    id: "incident-1",
    state: "firing",
    subject: "server",
    region: "us",
    key: "research",
    sandboxId: "sandbox-1",
    // Every incident of a test is about a server of its own, unless the test says otherwise.
    serverId: (more.id ?? "incident-1").replace("incident-", "server-"),
    serverName: "github",
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
  const type: IncidentMessage = more.type ?? "incident.firing";
  const resolved: Partial<NotifiedIncident> =
    type === "incident.resolved"
      ? { state: "resolved", resolvedAtMs: startMs + 60_000, resolvedReason: "recovered" }
      : {};
  return {
    receiver: "oncall",
    type,
    rule: "server-error",
    severity: "critical",
    condition: "in error",
    summaryTemplate: null,
    runbookUrlTemplate: null,
    causedAtMs: startMs,
    ...more,
    incident: toldIncident({ ...resolved, ...incident }),
  };
}

/** Changes of an incident, each incident in a sandbox of its own. */
export const fire = (id: string): OutboxItem => outboxItem({ incident: { id, sandboxId: id } });
export const resolve = (id: string): OutboxItem =>
  outboxItem({ type: "incident.resolved", incident: { id, sandboxId: id } });

/** What was sent to a webhook, as "firing a", in order. */
export function sentTo(server: ReceiverServer): readonly string[] {
  return server.requests.map(({ body }) => {
    const { data }: { data: { incidents: { state: string; id: string }[] } } = JSON.parse(body);
    return data.incidents.map(({ state, id }) => `${state} ${id}`).join(", ");
  });
}
