import type { Clock } from "../lib/clock.ts";
import type { Random } from "../lib/random.ts";
import type { Operation } from "../fleet/model.ts";
import { faultsSchema, type Fault, type FullFault } from "./faults.ts";

export interface FaultSubject {
  readonly region: string;
  readonly key: string;
  readonly operation: Operation;
}

/** Holds the faults in force and says which of them strike a request. */
export interface FaultBoard {
  set(faults: readonly Fault[]): void;
  /** Draws for each fault that concerns the request, so two calls may differ. */
  strike(subject: FaultSubject): readonly FullFault[];
}

/** @throws {z.ZodError} here and in `set`, when a fault is not one of the schema */
export function createFaultBoard(
  initial: readonly Fault[],
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): FaultBoard {
  const startedMs = clock.now().monotonicMs;
  let faults = faultsSchema.parse(initial);
  return {
    set(next) {
      faults = faultsSchema.parse(next);
    },
    strike(subject) {
      const elapsed = (clock.now().monotonicMs - startedMs) / 1000;
      return faults.filter((fault) => {
        if (fault.region !== undefined && fault.region !== subject.region) return false;
        if (fault.key !== undefined && fault.key !== subject.key) return false;
        if (fault.operation !== undefined && fault.operation !== subject.operation) return false;
        if (elapsed < fault.from || elapsed >= (fault.until ?? Infinity)) return false;
        return random() < fault.probability;
      });
    },
  };
}
