import { presences, statuses } from "../core/model.ts";
import type { Presence } from "../core/model.ts";
import type { Booking } from "../core/occupancy/booking.ts";
import { countByStatus } from "../core/snapshot/tallies.ts";

const pairs = presences.length ** 2;

/** The numbers of one moment, in the order of the names. */
export interface TakenNumbers {
  readonly names: readonly string[];
  readonly values: Float64Array | Uint32Array;
}

/** What is counted of a target's servers by name. The numbers only grow. */
export class NameCounts {
  private readonly names: string[] = [];
  private readonly numbers = new Map<string, number>();
  /** Of each name a number for each status. Milliseconds. */
  private bookedMs = new Float64Array(0);
  /** Of each name a count for each `from` and, within it, for each `to`. */
  private transitions = new Uint32Array(0);
  /** What is booked again and again is counted once something else is booked. */
  private readonly goingOn: { tallies: Booking["tallies"]; ms: number } = {
    tallies: new Map(),
    ms: 0,
  };

  /** Starts the series of a name. */
  add(name: string): number {
    const known = this.numbers.get(name);
    if (known !== undefined) return known;
    const number = this.names.push(name) - 1;
    this.numbers.set(name, number);
    if (this.bookedMs.length < this.names.length * statuses.length) this.makeRoom();
    return number;
  }

  /** Of servers that were watched. */
  bookAll({ elapsedMs, tallies }: Booking): void {
    if (tallies !== this.goingOn.tallies) {
      this.settle();
      this.goingOn.tallies = tallies;
      for (const { name, listed } of tallies.values())
        if (countByStatus(listed) > 0) this.add(name);
    }
    this.goingOn.ms += elapsedMs;
  }

  /** For each of the presences as `from` and, within it, for each as `to`. */
  countTransitions(name: string, counts: Uint32Array): void {
    const start = this.add(name) * pairs;
    for (let pair = 0; pair < pairs; pair++) {
      this.transitions[start + pair] = (this.transitions[start + pair] ?? 0) + (counts[pair] ?? 0);
    }
  }

  /** What goes on is only counted when the numbers are asked for: all targets' are taken at one moment. */
  takeBookedMs(): () => TakenNumbers {
    const names = this.names.slice();
    const values = this.bookedMs.slice(0, names.length * statuses.length);
    const { tallies, ms } = this.goingOn;
    return () => {
      const counted = values.slice();
      this.count(counted, tallies, ms);
      return { names, values: counted };
    };
  }

  takeTransitions(): TakenNumbers {
    const { names, transitions } = this;
    return { names: names.slice(), values: transitions.slice(0, names.length * pairs) };
  }

  private settle(): void {
    const { tallies, ms } = this.goingOn;
    this.goingOn.ms = 0;
    this.count(this.bookedMs, tallies, ms);
  }

  private count(bookedMs: Float64Array, tallies: Booking["tallies"], ms: number): void {
    if (ms === 0) return;
    for (const { name, listed } of tallies.values()) {
      if (countByStatus(listed) === 0) continue;
      const at = this.add(name) * statuses.length;
      for (let status = 0; status < statuses.length; status++) {
        const count = listed[statuses[status] ?? "unknown"];
        bookedMs[at + status] = (bookedMs[at + status] ?? 0) + count * ms;
      }
    }
  }

  private makeRoom(): void {
    const room = this.names.length + Math.ceil(this.names.length / 4);
    const bookedMs = new Float64Array(room * statuses.length);
    bookedMs.set(this.bookedMs);
    this.bookedMs = bookedMs;
    const transitions = new Uint32Array(room * pairs);
    transitions.set(this.transitions);
    this.transitions = transitions;
  }
}

export function bookedOf({ values }: TakenNumbers, name: number, status: number): number {
  return values[name * statuses.length + status] ?? 0;
}

export function transitionsOf(
  { values }: TakenNumbers,
  name: number,
  from: Presence,
  to: Presence,
): number {
  const pair = presences.indexOf(from) * presences.length + presences.indexOf(to);
  return values[name * pairs + pair] ?? 0;
}
