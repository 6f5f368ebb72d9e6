import type { Target } from "../core/model.ts";
import { escapeLabelValue, familyHeader } from "./exposition-text.ts";
import type { ExpositionSyntax } from "./exposition-text.ts";

/**
 * A family with series for each target. Ten thousand targets have millions of them: numbers are
 * kept, and become lines only while they are sent.
 */
export interface TargetFamily {
  /** As a whole: that of a counter ends in `_total`. */
  readonly name: string;
  readonly help: string;
  readonly type: "gauge" | "counter" | "histogram";
  /** Takes hold of all that it shows as it is now. The lines are made later, a text for each target. */
  take(syntax: ExpositionSyntax): Iterable<string>;
}

/** Takes hold of a family now; its texts are made when they are asked for. */
export function takeFamily(family: TargetFamily, syntax: ExpositionSyntax): Iterable<string> {
  const { name, help, type } = family;
  const texts = family.take(syntax);
  return (function* () {
    yield familyHeader(syntax, name, help, type);
    yield* texts;
  })();
}

/** Without braces. */
export function targetLabels({ region, key }: Target): string {
  return `region="${escapeLabelValue(region)}",key="${escapeLabelValue(key)}"`;
}

/**
 * What is kept for each target, found by the target itself: the labels are not looked at at a poll.
 *
 * @throws {RangeError} for a target that is not one of these
 */
export function keepForTargets<Kept>(
  targets: readonly { readonly target: Target }[],
  create: () => Kept,
): { readonly all: ReadonlyMap<Target, Kept>; readonly of: (target: Target) => Kept } {
  const all = new Map(targets.map(({ target }) => [target, create()]));
  return {
    all,
    of(target) {
      const kept = all.get(target);
      if (kept === undefined) throw new RangeError("The target of a metric must be a watched one");
      return kept;
    },
  };
}
