import type { IncidentOutcome } from "../alerts/incident-engine.ts";
import type { IncidentStep } from "../alerts/incident-phase.ts";
import { poolText, serverText } from "../alerts/incident.ts";
import type { Incident } from "../alerts/incident.ts";
import { targetName } from "../fleet/model.ts";
import type { Target } from "../fleet/model.ts";
import { subjectName } from "../alerts/probe.ts";
import { writePaced } from "../lib/logger.ts";
import type { Logger, LogLine } from "../lib/logger.ts";

const levelOfStep = {
  opened: "info",
  dropped: "info",
  fired: "warn",
  muted: "info",
  inhibited: "info",
  reminded: "warn",
  flapping: "warn",
  settled: "warn",
  resolved: "info",
} as const satisfies Record<IncidentStep, "info" | "warn">;

/** One line for each step of an incident. @param target null: incidents of pools, probes or receivers */
export async function logIncidents(
  log: Logger,
  target: Target | null,
  { steps }: IncidentOutcome,
): Promise<void> {
  if (steps.length === 0) return;
  const name = target === null ? "" : `${targetName(target)} `;
  await writePaced(
    log,
    Iterator.from(steps).map(({ step, incident }): LogLine => {
      const { fields, text } = describeSubject(incident);
      const { id, rule, severity, phase, inhibitedBy } = incident;
      return {
        level: levelOfStep[step],
        fields: {
          event: `incident.${step}`,
          ...target,
          incident_id: id,
          rule,
          severity,
          ...fields,
          ...(step === "inhibited" && { inhibited_by: inhibitedBy }),
          ...(phase.name === "resolved" && { reason: phase.reason }),
        },
        msg: `${rule} ${step}: ${name}${text}`.trimEnd(),
      };
    }),
  );
}

function describeSubject({ subject, status }: Incident): {
  readonly fields: Readonly<Record<string, string | null>>;
  readonly text: string;
} {
  switch (subject.kind) {
    case "target":
      return { fields: {}, text: "" };
    case "server": {
      const { sandboxId: sandbox_id, serverId: server_id, serverName: server_name } = subject;
      const text = `${serverText(subject)} ${status ?? ""}`;
      return { fields: { sandbox_id, server_id, server_name, status }, text };
    }
    case "region":
      return { fields: { region: subject.region }, text: subject.region };
    case "pool": {
      const { region, key, serverName: server_name } = subject;
      return { fields: { region, key, server_name }, text: poolText(subject) };
    }
    case "probe": {
      const { probe, region, key } = subject;
      return { fields: { probe, region, key }, text: `probe ${subjectName(subject)}` };
    }
    case "receiver":
      return { fields: { receiver: subject.receiver }, text: subject.receiver };
  }
}
