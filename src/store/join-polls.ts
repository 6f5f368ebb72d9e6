import { flapKey } from "../alerts/flap-record.ts";
import type { IncidentOutcome } from "../alerts/incident-engine.ts";
import type { Verdict } from "../alerts/judge.ts";
import type { BucketWrite } from "../fleet/accounting.ts";

/** What polls that followed one another come to. Of what a later one wrote anew it has only that. */
export interface JoinedPolls {
  /** From the first to the last, for what each of them adds. */
  readonly each: readonly Verdict[];
  readonly last: Verdict;
  readonly accounting: Verdict["accounting"];
  readonly incidents: IncidentOutcome;
}

export function onePoll(verdict: Verdict): JoinedPolls {
  const { accounting, incidents } = verdict;
  return { each: [verdict], last: verdict, accounting, incidents };
}

/** Null: there are none. */
export function joinPolls(verdicts: readonly Verdict[]): JoinedPolls | null {
  const last = verdicts.at(-1);
  if (!last) return null;
  return {
    each: verdicts,
    last,
    accounting: { open: last.accounting.open, written: joinBuckets(verdicts) },
    incidents: joinIncidents(verdicts),
  };
}

/** In the order in which they were first written, as they were last. */
function joinBuckets(verdicts: readonly Verdict[]): readonly BucketWrite[] {
  const written = new Map<string, BucketWrite>();
  for (const { accounting } of verdicts) {
    for (const each of accounting.written) {
      written.set(`${each.resolution} ${each.bucket.startMs}`, each);
    }
  }
  return [...written.values()];
}

/** Each incident as it was last, but for those that came to nothing. */
function joinIncidents(verdicts: readonly Verdict[]): IncidentOutcome {
  const written = new Map<string, IncidentOutcome["written"][number]>();
  const dropped = new Map<string, IncidentOutcome["dropped"][number]>();
  const flaps = new Map<string, IncidentOutcome["flaps"][number]>();
  const outbox: IncidentOutcome["outbox"][number][] = [];
  for (const { incidents } of verdicts) {
    for (const incident of incidents.written) written.set(incident.id, incident);
    for (const incident of incidents.dropped) {
      written.delete(incident.id);
      dropped.set(incident.id, incident);
    }
    for (const record of incidents.flaps) flaps.set(flapKey(record), record);
    outbox.push(...incidents.outbox);
  }
  return {
    written: [...written.values()],
    dropped: [...dropped.values()],
    flaps: [...flaps.values()],
    steps: [],
    outbox,
  };
}
