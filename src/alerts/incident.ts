import type { IncidentPhase } from "./incident-phase.ts";
import type { Presence, Target } from "../fleet/model.ts";
import type { NotifiedIncident } from "./notification.ts";
import { isBlank } from "../fleet/readable.ts";
import type { Severity } from "./rule.ts";

/** What an incident is about: a server of a target, the target itself, a pool, a probe, or a receiver. */
export type Subject =
  | { readonly kind: "target" }
  | PoolSubject
  | ProbeSubject
  | { readonly kind: "receiver"; readonly receiver: string }
  | {
      readonly kind: "server";
      readonly sandboxId: string;
      readonly serverId: string;
      readonly serverName: string | null;
    };

/** The servers alike in what the rule pools `by`; null: the rule is not by it. */
export interface PoolSubject {
  readonly kind: "pool";
  readonly region: string | null;
  readonly key: string | null;
  readonly serverName: string | null;
}

/** A probe as it runs in one region with one key. */
export interface ProbeSubject extends Target {
  readonly kind: "probe";
  readonly probe: string;
}

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
  /** What the condition was seen as; null, like the next, for anything but a server. */
  readonly status: Presence | null;
  readonly previousStatus: Presence | null;
  /** When the condition was first seen to hold. */
  readonly startedAtMs: number;
  readonly firedAtMs: number | null;
  readonly resolvedAtMs: number | null;
}

/** Finds an incident among the open ones of its target: a rule and a subject have one at most. */
export function incidentKey(rule: string, subject: Subject): string {
  switch (subject.kind) {
    case "target":
      return JSON.stringify([rule]);
    case "server":
      return JSON.stringify([rule, subject.sandboxId, subject.serverId]);
    case "pool":
      return JSON.stringify([rule, subject.region, subject.key, subject.serverName]);
    case "probe":
      return JSON.stringify([rule, subject.probe, subject.region, subject.key]);
    case "receiver":
      return JSON.stringify([rule, subject.receiver]);
  }
}

export function keyOfIncident({ rule, subject }: Incident): string {
  return incidentKey(rule, subject);
}

export function byIncidentKey(incidents: Iterable<Incident>): Map<string, Incident> {
  return new Map(Array.from(incidents, (incident) => [keyOfIncident(incident), incident]));
}

/**
 * The incident as a notification describes it at this moment.
 *
 * @param target whose incident it is; null for one of a pool, a probe or a receiver
 * @param acknowledgedBy null: nobody
 */
export function notifiedIncident(
  target: Target | null,
  incident: Incident,
  acknowledgedBy: string | null,
): NotifiedIncident {
  const { subject, phase } = incident;
  const server = subject.kind === "server" ? subject : null;
  const place = placeOf(target, subject);
  const named = subject.kind === "pool" ? subject : server;
  return {
    id: incident.id,
    state: phase.name === "resolved" ? "resolved" : "firing",
    subject: subject.kind,
    region: place?.region ?? null,
    key: place?.key ?? null,
    sandboxId: server?.sandboxId ?? null,
    serverId: server?.serverId ?? null,
    serverName: named?.serverName ?? null,
    status: incident.status,
    previousStatus: incident.previousStatus,
    startedAtMs: incident.startedAtMs,
    resolvedAtMs: incident.resolvedAtMs,
    resolvedReason: phase.name === "resolved" ? phase.reason : null,
    receiver: subject.kind === "receiver" ? subject.receiver : null,
    probe: subject.kind === "probe" ? subject.probe : null,
    flapping: phase.name === "firing" && phase.flapping,
    acknowledgedBy,
  };
}

/** Where it is; null: in no region, or its rule does not tell regions or keys apart. */
export function placeOf(
  target: Target | null,
  subject: Subject,
): { readonly region: string | null; readonly key: string | null } | null {
  return subject.kind === "pool" || subject.kind === "probe" ? subject : target;
}

/** A server for a person: its name, and enough of its id to tell it from its like. */
export function serverText(server: {
  readonly serverId: string;
  readonly serverName: string | null;
}): string {
  const shortId = server.serverId.slice(0, 8);
  return printable(isBlank(server.serverName) ? shortId : `${server.serverName} (${shortId})`);
}

/** A pool for a person: "pool us/research/github", with `*` where its rule pools all. */
export function poolText({ region, key, serverName }: PoolSubject): string {
  return printable(`pool ${[region, key, serverName].map((part) => part ?? "*").join("/")}`);
}

const controlCharacter = /\p{Cc}/u;

/** Names come from the service, and a terminal would obey their control characters. */
function printable(text: string): string {
  return controlCharacter.test(text) ? text.replaceAll(/\p{Cc}/gu, "?") : text;
}
