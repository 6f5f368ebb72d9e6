import type { IncidentPhase } from "./incident-phase.ts";
import type { Presence, Target } from "./model.ts";
import type { ToldIncident } from "./notification.ts";
import type { Severity } from "./rule.ts";

/** What an incident is about: a server of a target, or the target itself. */
export type Subject =
  | { readonly kind: "target" }
  | {
      readonly kind: "server";
      readonly sandboxId: string;
      readonly serverId: string;
      readonly serverName: string | null;
    };

/** One stretch during which a rule holds for one subject. Times are UTC milliseconds. */
export interface Incident {
  readonly id: string;
  readonly rule: string;
  /** The rule as it was when the incident opened: a rule that changed does not own it any more. */
  readonly ruleFingerprint: string;
  readonly severity: Severity;
  /** Who was told that it fires, and so is told how it goes on. */
  readonly receivers: readonly string[];
  readonly subject: Subject;
  readonly phase: IncidentPhase;
  /** What the condition was seen as; null, like the next, for a target. */
  readonly status: Presence | null;
  readonly previousStatus: Presence | null;
  /** When the condition was first seen to hold. */
  readonly startedAtMs: number;
  readonly firedAtMs: number | null;
  readonly resolvedAtMs: number | null;
}

/** Finds an incident among the open ones of its target: a rule and a subject have one at most. */
export function incidentKey(rule: string, subject: Subject): string {
  return subject.kind === "target"
    ? JSON.stringify([rule])
    : JSON.stringify([rule, subject.sandboxId, subject.serverId]);
}

/** The incident as a notification tells it at this moment. */
export function tellIncident(target: Target, incident: Incident): ToldIncident {
  const { subject, phase } = incident;
  const server = subject.kind === "server" ? subject : null;
  return {
    id: incident.id,
    state: phase.name === "resolved" ? "resolved" : "firing",
    subject: subject.kind,
    region: target.region,
    key: target.key,
    sandboxId: server?.sandboxId ?? null,
    serverId: server?.serverId ?? null,
    serverName: server?.serverName ?? null,
    status: incident.status,
    previousStatus: incident.previousStatus,
    startedAtMs: incident.startedAtMs,
    resolvedAtMs: incident.resolvedAtMs,
    resolvedReason: phase.name === "resolved" ? phase.reason : null,
  };
}

/** A server for a person: its name, and enough of its id to tell it from its like. */
export function serverText(server: {
  readonly serverId: string;
  readonly serverName: string | null;
}): string {
  const shortId = server.serverId.slice(0, 8);
  const text = server.serverName === null ? shortId : `${server.serverName} (${shortId})`;
  // It comes from the service, and a terminal would obey its control characters.
  return text.replaceAll(/\p{Cc}/gu, "?");
}
