import type { Target } from "./model.ts";
import type { TargetState } from "./target-state.ts";

/** What may be shown of a target, by metrics and pages. */
export interface WatchedView {
  readonly target: Target;
  /** The same object throughout: it always reads as of the last commit. */
  readonly state: TargetState;
  /** Whether this process has polled it, well or badly. */
  readonly polled: boolean;
  /** Whether its last poll was accepted, and kept. */
  readonly up: boolean;
  /** Blind for so long that what was last seen is not shown as the present any more. */
  readonly withheld: boolean;
}
