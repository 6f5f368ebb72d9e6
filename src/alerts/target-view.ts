import type { OperationProblem } from "../fleet/deviation.ts";
import type { Target } from "../fleet/model.ts";
import { failureText } from "./rule.ts";
import type { TargetState } from "./target-state.ts";

/** What the last poll said beyond the state. Nothing in it is secret. */
export interface PollDetail {
  /** Why it failed, such as "HTTP 503", or why its listing is partial. */
  readonly text: string;
  /** Of the HTTP answer of a failed poll; null: none came, or the poll did not fail. */
  readonly status: number | null;
  readonly problem: OperationProblem | null;
}

/** What may be shown of a target, by metrics and pages. */
export interface WatchedView {
  readonly target: Target;
  /** The same object throughout: it always reads as of the last commit. */
  readonly state: TargetState;
  /** Whether this process has polled it, whatever the outcome. */
  readonly polled: boolean;
  /** Whether its last poll was accepted, and kept. */
  readonly up: boolean;
  /** Down for so long that what was last observed is not shown as the present any more. */
  readonly withheld: boolean;
  /** Of the last poll, if it failed or its listing was partial; null: there is nothing to say. */
  readonly detail: PollDetail | null;
}

/** Why the polls of a target fail, or why its listing is partial. */
export function failureOf({ state, detail }: WatchedView): string | null {
  const { lastFailure, lastStatus } = state.progress;
  return detail?.text ?? (lastFailure && failureText(lastFailure, lastStatus).replaceAll("_", " "));
}
