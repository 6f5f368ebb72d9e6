import type { TargetRule } from "../draw/rules.ts";
import type { Evidence, NotifiedIncident, Violation } from "./evidence.ts";
import { follow } from "./check-incidents.ts";
import { advance, initialState } from "./incident-model.ts";
import { inhibitionOf } from "./inhibition.ts";
import { silencedAt } from "./people.ts";
import { findingOf, type JudgedPoll } from "./target-polls.ts";

/** The notifications of a target are those that its stored polls call for. */
export function checkTarget(
  evidence: Evidence,
  {
    target,
    rule,
    polls,
  }: { readonly target: string; readonly rule: TargetRule; readonly polls: readonly JudgedPoll[] },
  notified: readonly NotifiedIncident[],
): readonly Violation[] {
  const name = `${rule.name} ${target}`;
  const subject = { rule: rule.name, target, server: "" };
  const inhibited = inhibitionOf(evidence, { ...subject, server: null });
  return follow(
    evidence,
    { name, about: target, rule, observations: polls, notified },
    initialState,
    (before, step, poll) => {
      const full = {
        ...step,
        observation: poll,
        finding: findingOf(rule, poll),
        isCounted: poll.isCounted,
        goneAfter: 1,
        silenced: silencedAt(evidence, subject, poll),
        inhibited: inhibited(poll.toMs),
      };
      return before.flatMap((state) => advance(state, full));
    },
  );
}
