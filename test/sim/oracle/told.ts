import type { Attempt, History } from "../history.ts";

type ToldInMessage = Attempt["message"]["data"]["incidents"][number];

/** An incident, as receivers were told of it. */
export interface ToldIncident {
  readonly id: string;
  readonly rule: string;
  readonly target: string;
  /** By sandbox and server id; null: the target itself. */
  readonly server: string | null;
  /** Of an incident of a pool: its region, key and server name. */
  readonly pool: string | null;
  /** Of an incident of a probe: which, of what target. */
  readonly probe: string | null;
  /** Of an incident of a receiver: which; null: of anything else. */
  readonly about: string | null;
  readonly startedUtcMs: number;
  /** When a receiver first heard of it. */
  readonly heardMs: number;
  readonly resolved: { readonly utcMs: number; readonly reason: string | null } | null;
}

/** In the order of their first mention. */
export function toldIncidents({ attempts }: History): readonly ToldIncident[] {
  const told = new Map<string, ToldIncident>();
  for (const { message, atMs } of attempts) {
    for (const incident of message.data.incidents) {
      const known = told.get(incident.id);
      if (!known || (known.resolved === null && incident.resolved_at !== null)) {
        const heardMs = known?.heardMs ?? atMs;
        told.set(incident.id, { ...readTold(message.data.rule, incident), heardMs });
      }
    }
  }
  return [...told.values()];
}

export function subjectOf(incident: ToldInMessage): { target: string; server: string | null } {
  const { region, key, sandbox_id: box, server_id: server } = incident;
  return { target: `${region}/${key}`, server: box === null ? null : `${box} ${server}` };
}

export function poolOf({ subject, region, key, server_name: name }: ToldInMessage): string | null {
  return subject === "pool" ? `${region} ${key} ${name}` : null;
}

export function probeOf({ probe, region, key }: ToldInMessage): string | null {
  return probe === undefined ? null : probeText(probe, `${region}/${key}`);
}

export function probeText(probe: string, target: string): string {
  return `${probe} of ${target}`;
}

function readTold(rule: string, incident: ToldInMessage): Omit<ToldIncident, "heardMs"> {
  const { id, started_at: startedAt, resolved_at: resolvedAt } = incident;
  return {
    id,
    rule,
    ...subjectOf(incident),
    pool: poolOf(incident),
    probe: probeOf(incident),
    about: incident.receiver ?? null,
    startedUtcMs: Date.parse(startedAt),
    resolved:
      resolvedAt === null
        ? null
        : { utcMs: Date.parse(resolvedAt), reason: incident.resolved_reason },
  };
}
