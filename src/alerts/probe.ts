import type { Operation, Target } from "../fleet/model.ts";
import type { ProbeSubject } from "./incident.ts";
import type { Expectation } from "./probe-expectation.ts";
import type { Schedule } from "../fleet/schedule.ts";

/** A call of one operation on a schedule of its own, and what must hold of the answer. */
export interface Probe {
  readonly name: string;
  readonly operation: Operation;
  /** Of what is asked for; null: the operation takes none. It may be somebody's, and is shown nowhere. */
  readonly id: string | null;
  /** Never empty. */
  readonly targets: readonly Target[];
  readonly schedule: Schedule;
  readonly expect: Expectation;
}

/** A probe as it runs in each region with each key: the unit of its results and incidents. */
export function subjectsOf({ name, targets }: Probe): readonly ProbeSubject[] {
  return targets.map(({ region, key }) => ({ kind: "probe", probe: name, region, key }));
}

/** A subject as one string, for maps and hashes. Names hold no slash: the configuration sees to it. */
export function subjectName({ probe, region, key }: ProbeSubject): string {
  return `${probe}/${region}/${key}`;
}
