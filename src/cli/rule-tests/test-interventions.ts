import type { Incident } from "../../alerts/incident.ts";
import type { Interventions } from "../../alerts/silence.ts";
import type { MaintenanceWindow } from "../../alerts/silence.ts";
import { isInForce, silences } from "../../alerts/silence.ts";
import { timeWindow } from "../../api/windows.ts";
import type { RuleTest } from "./schema.ts";

/** What people say in the course of a test, and the configuration's maintenance windows. */
export interface TestInterventions extends Interventions {
  /**
   * Acknowledges the firing incidents that the test names for this moment.
   *
   * @returns those that were acknowledged by this call
   */
  acknowledge(open: Iterable<Incident>, atMs: number): readonly Acknowledged[];
}

export interface Acknowledged {
  readonly incident: Incident;
  readonly author: string;
}

/** Times are as in the test: milliseconds from its first poll, whose moment says when windows open. */
export function testInterventions(
  test: Pick<RuleTest, "start" | "silences" | "acknowledge">,
  maintenance: readonly MaintenanceWindow[],
): TestInterventions {
  const authors = new Map<string, string>();
  const inTest = test.silences.map(({ from, until, match }) => ({
    startsAtMs: test.start + from,
    endsAtMs: test.start + until,
    match,
  }));
  const windows = maintenance.map(timeWindow);
  return {
    silencedAt(atMs) {
      const inForce = [
        ...inTest.filter((silence) => isInForce(silence, atMs)),
        ...windows.filter((window) => window.openingAt(atMs) !== null),
      ];
      return inForce.length === 0
        ? null
        : (facts) => inForce.some(({ match }) => silences(match, facts));
    },
    acknowledgedBy: (incidentId) => authors.get(incidentId) ?? null,
    acknowledge(open, atMs) {
      const incidents = [...open];
      const acknowledged: Acknowledged[] = [];
      for (const each of test.acknowledge.filter(({ at }) => at === atMs)) {
        for (const incident of incidents) {
          if (!isMeant(each, incident) || authors.has(incident.id)) continue;
          authors.set(incident.id, each.by);
          acknowledged.push({ incident, author: each.by });
        }
      }
      return acknowledged;
    },
  };
}

function isMeant(
  { rule, server }: RuleTest["acknowledge"][number],
  { rule: owner, subject, phase }: Incident,
): boolean {
  if (owner !== rule || phase.name !== "firing" || phase.notifiedAtMs === null) return false;
  return server === undefined || (subject.kind === "server" && subject.serverId === server);
}
