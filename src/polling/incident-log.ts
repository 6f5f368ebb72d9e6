import type { IncidentOutcome } from "../alerts/incident-engine.ts";
import type { IncidentStep } from "../alerts/incident-phase.ts";
import { subjectFacts } from "../alerts/incident.ts";
import { kindOf, namedFacts, placeText } from "../alerts/subjects.ts";
import type { Target } from "../fleet/model.ts";
import { writePaced } from "../lib/logger.ts";
import type { Logger, LogLine } from "../lib/logger.ts";

const levelOfStep = {
  opened: "info",
  dropped: "info",
  fired: "warn",
  muted: "info",
  inhibited: "info",
  reminded: "warn",
  escalated: "warn",
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
  await writePaced(
    log,
    Iterator.from(steps).map(({ step, incident }): LogLine => {
      const { id, rule, severity, subject, status, phase, inhibitedBy } = incident;
      const facts = subjectFacts(target, subject);
      const fields = Object.entries({ ...namedFacts(facts), status });
      const about = [placeText(facts), kindOf(subject.kind).name(facts), status];
      return {
        level: levelOfStep[step],
        fields: {
          event: `incident.${step}`,
          ...Object.fromEntries(fields.filter(([, value]) => value !== null)),
          incident_id: id,
          rule,
          severity,
          ...(step === "inhibited" && { inhibited_by: inhibitedBy }),
          ...(phase.name === "resolved" && { reason: phase.reason }),
        },
        msg: `${rule} ${step}: ${about.filter(Boolean).join(" ")}`,
      };
    }),
  );
}
