import type { IncidentOutcome } from "../core/incident-ledger.ts";
import type { Incident, ProbeSubject } from "../core/incident.ts";
import { retireProbe } from "../core/judge-probe.ts";
import type { ProbeJudgeOptions } from "../core/judge-probe.ts";
import { holdIncidents } from "../core/open-incidents.ts";
import { subjectName, subjectsOf } from "../core/probe.ts";
import type { Probe } from "../core/probe.ts";
import type { RestoredProbe, WatchedProbe } from "./watched-probe.ts";
import { watchProbe } from "./watched-probe.ts";

/** What restoring needs of the store. */
export interface ProbeStore {
  readonly untargeted: { open(): Promise<readonly Incident[]> };
  readonly probes: {
    all(): Promise<readonly Omit<RestoredProbe, "openIncidents">[]>;
    add(subject: ProbeSubject): Promise<Omit<RestoredProbe, "openIncidents">>;
    remove(id: number): Promise<void>;
    commitRetired(id: number, incidents: IncidentOutcome): Promise<void>;
  };
}

export interface RestoreProbesOptions {
  readonly judge: ProbeJudgeOptions;
  /** Runs in a row without news before what was last seen is withheld. */
  readonly staleAfter: number;
  readonly nowUtcMs: number;
  readonly onRetired: (outcome: IncidentOutcome) => void;
}

/**
 * The configured probes as the store last knew them. Incidents that no rule owns any more are ended,
 * also those of probes that the configuration does not have any more; these are then forgotten.
 */
export async function restoreProbes(
  store: ProbeStore,
  configured: readonly Probe[],
  { judge, staleAfter, nowUtcMs, onRetired }: RestoreProbesOptions,
): Promise<readonly WatchedProbe[]> {
  const incidentsOf = Map.groupBy(await store.untargeted.open(), ({ subject }) =>
    subject.kind === "probe" ? subjectName(subject) : "",
  );
  const stored = new Map(
    (await store.probes.all()).map((known) => [subjectName(known.subject), known]),
  );

  /** Gives the probe with what goes on. */
  const retire = async (
    known: Omit<RestoredProbe, "openIncidents">,
    options: ProbeJudgeOptions,
  ): Promise<RestoredProbe> => {
    const { subject, flaps } = known;
    const held = holdIncidents(incidentsOf.get(subjectName(subject)) ?? [], flaps);
    const outcome = retireProbe({ subject, ...held }, nowUtcMs, options);
    if (outcome.steps.length > 0 || outcome.flaps.length > 0) {
      await store.probes.commitRetired(known.id, outcome);
      onRetired(outcome);
      held.takeOn(outcome);
    }
    return {
      ...known,
      openIncidents: [...held.incidents.values()],
      flaps: [...held.flaps.values()],
    };
  };

  const watched: WatchedProbe[] = [];
  for (const probe of configured) {
    for (const subject of subjectsOf(probe)) {
      const known = stored.get(subjectName(subject)) ?? (await store.probes.add(subject));
      stored.delete(subjectName(subject));
      watched.push(watchProbe(probe, await retire(known, judge), staleAfter));
    }
  }
  for (const abandoned of stored.values()) {
    await retire(abandoned, { ...judge, rules: [] });
    await store.probes.remove(abandoned.id);
  }
  return watched;
}
