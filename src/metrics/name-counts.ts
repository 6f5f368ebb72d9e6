import type { Stretch } from "../fleet/accounting.ts";
import { statusAfter, statusBefore } from "../fleet/diff.ts";
import type { ServerDiff } from "../fleet/diff.ts";
import { presences, statuses } from "../fleet/status.ts";
import type { Presence } from "../fleet/status.ts";
import { countByStatus } from "../fleet/tallies.ts";

const pairs = presences.length ** 2;

/** The numbers of one moment, in the order of the names. */
export interface TakenNumbers {
  readonly names: readonly string[];
  readonly values: Float64Array | Uint32Array;
}

/** What is counted of a target's servers by name. The numbers only grow. */
export class NameCounts {
  private readonly numbers = new Map<string, number>();
  /** Of each name a number for each status. Milliseconds. */
  private observedMs = new Float64Array(0);
  /** Of each name a count for each status before and, within it, for each status after. */
  private transitions = new Uint32Array(0);

  /** Starts the series of a name. */
  add(name: string): number {
    const known = this.numbers.get(name);
    if (known !== undefined) return known;
    const number = this.numbers.size;
    this.numbers.set(name, number);
    if (this.observedMs.length < this.numbers.size * statuses.length) this.grow();
    return number;
  }

  /** Of servers that were observed. */
  addTime({ elapsedMs, tallies }: Stretch): void {
    for (const { name, listed } of tallies.values()) {
      if (countByStatus(listed) === 0) continue;
      const at = this.add(name) * statuses.length;
      for (const [status, each] of statuses.entries()) {
        this.observedMs[at + status] =
          (this.observedMs[at + status] ?? 0) + listed[each] * elapsedMs;
      }
    }
  }

  /** @param name as aggregates show it */
  countChange(name: string, change: ServerDiff): void {
    const at = this.add(name) * pairs + pairOf(statusBefore(change), statusAfter(change));
    this.transitions[at] = (this.transitions[at] ?? 0) + 1;
  }

  takeObservedMs(): TakenNumbers {
    const names = [...this.numbers.keys()];
    return { names, values: this.observedMs.slice(0, names.length * statuses.length) };
  }

  takeTransitions(): TakenNumbers {
    const names = [...this.numbers.keys()];
    return { names, values: this.transitions.slice(0, names.length * pairs) };
  }

  private grow(): void {
    const room = Math.ceil(this.numbers.size * 1.25);
    const observedMs = new Float64Array(room * statuses.length);
    observedMs.set(this.observedMs);
    this.observedMs = observedMs;
    const transitions = new Uint32Array(room * pairs);
    transitions.set(this.transitions);
    this.transitions = transitions;
  }
}

export function observedMsOf({ values }: TakenNumbers, name: number, status: number): number {
  return values[name * statuses.length + status] ?? 0;
}

export function transitionsOf(
  { values }: TakenNumbers,
  name: number,
  from: Presence,
  to: Presence,
): number {
  return values[name * pairs + pairOf(from, to)] ?? 0;
}

function pairOf(from: Presence, to: Presence): number {
  return presences.indexOf(from) * presences.length + presences.indexOf(to);
}
