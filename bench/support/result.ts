import type { Measurement } from "./scenario.ts";
import { summarize } from "./stats.ts";
import type { Summary } from "./stats.ts";

/** A measurement over all rounds, judged by its target. */
export interface Result {
  readonly scenario: string;
  readonly what: string;
  readonly unit: string;
  readonly value: Summary | null;
  readonly floor: { readonly what: string; readonly unit: string; readonly value: Summary } | null;
  readonly target: number | null;
  readonly atLeast: boolean;
  /** Null where there is no target, or nothing to hold against it. */
  readonly met: boolean | null;
  readonly samples: readonly number[];
  readonly plot: Measurement["plot"];
}

/** Joins the rounds of one scenario: rows that measure the same become one. */
export function joinRounds(
  scenario: string,
  rounds: readonly (readonly Measurement[])[],
): readonly Result[] {
  const joined = new Map<string, Measurement>();
  for (const each of rounds.flat()) {
    const before = joined.get(each.what);
    joined.set(each.what, before ? join(before, each) : each);
  }
  return Array.from(joined.values(), (each) => toResult(scenario, each));
}

function join(a: Measurement, b: Measurement): Measurement {
  return {
    ...a,
    samples: [...a.samples, ...b.samples],
    floorSamples: [...(a.floorSamples ?? []), ...(b.floorSamples ?? [])],
  };
}

function toResult(scenario: string, measurement: Measurement): Result {
  const { what, unit, samples, target = null, atLeast = false, plot } = measurement;
  const value = summarize(samples);
  const floor = summarize(measurement.floorSamples ?? []);
  return {
    scenario,
    what,
    unit,
    value,
    floor: floor && {
      what: measurement.floor ?? "",
      unit: measurement.floorUnit ?? unit,
      value: floor,
    },
    target,
    atLeast,
    met: value && target !== null ? isMet(value.median, target, atLeast) : null,
    samples,
    plot,
  };
}

function isMet(median: number, target: number, atLeast: boolean): boolean {
  return atLeast ? median >= target : median <= target;
}
