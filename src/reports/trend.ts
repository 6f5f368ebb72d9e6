/** A value at a week. Weeks may be missing in between. */
export interface Point {
  readonly week: number;
  readonly value: number;
}

/** The simplest course that explains some points. */
export type Trend = {
  /** A point that is far from the course of the others, and was not used. */
  readonly unusual: (Point & { readonly by: number }) | null;
} & (
  | { readonly kind: "flat" }
  | { readonly kind: "line"; readonly perWeek: number; readonly valueAt: (week: number) => number }
  | {
      readonly kind: "step";
      readonly rise: number;
      /** The first week after the step. */
      readonly week: number;
      /** The course since then: a step, too, may be followed by a rise. Null: those weeks are too few. */
      readonly since: Exclude<Trend, { readonly kind: "step" }> | null;
    }
);

export const fewestWeeks = 4;
/** A step needs this many weeks on either side: one week may just be unusual. */
const fewestOfStep = 2;
/** Smaller changes are of no interest, however clear they are. */
const leastStep = 0.05;
const leastRise = 0.01;
/** The chance that noise around a constant is taken for a line, for a step, or for an unusual week. */
const chances = { line: 0.018, step: 0.015, unusual: 0.005 };
/** Points are never more exact than this, so that models are compared, and not errors of rounding. */
const leastDeviation = 0.0005;
/** The standard deviation of rounding to whole numbers is about that much of their distance. */
const roundingDeviation = 0.3;

interface Fit {
  readonly kind: "flat" | "line" | "step";
  readonly points: readonly Point[];
  readonly unusual: Point | null;
  readonly grain: number;
  readonly valueAt: (week: number) => number;
  /** The rise per week of a line, or of a step. */
  readonly rise: number;
  /** The first week after a step. */
  readonly week: number;
  /** The sum of the squares of what is left over. */
  readonly squares: number;
  /** The Bayesian information criterion. The lowest one is the best. */
  readonly criterion: number;
}

/**
 * Compares a constant, a line and a single step, each also without one unusual point, by the Bayesian information
 * criterion, and takes the best one that is significant: t-tests with Bonferroni's correction for the places tried.
 *
 * @param points at least four, in order
 * @param grain the distance of the values that there can be. 0: there can be any
 */
export function trendOf(points: readonly Point[], grain: number): Trend {
  const fit = bestFit(points, grain, ["flat", "line", "step"]);
  const unusual = unusualOf(fit);
  if (fit.kind !== "step") return { ...courseOf(fit), unusual };
  const after = fit.points.filter(({ week }) => week >= fit.week);
  const since = after.length < fewestWeeks ? null : bestFit(after, grain, ["flat", "line"]);
  return {
    kind: "step",
    rise: fit.rise,
    week: fit.week,
    since: since && { ...courseOf(since), unusual: unusualOf(since) },
    unusual,
  };
}

function courseOf({ kind, rise, valueAt }: Fit) {
  return kind === "line"
    ? ({ kind, perWeek: rise, valueAt } as const)
    : ({ kind: "flat" } as const);
}

function unusualOf({ unusual, valueAt }: Fit): Trend["unusual"] {
  return unusual && { ...unusual, by: unusual.value - valueAt(unusual.week) };
}

function bestFit(points: readonly Point[], grain: number, kinds: readonly Fit["kind"][]): Fit {
  const subsets = [null, ...(points.length > fewestWeeks ? points : [])];
  const fits = subsets.flatMap((unusual) => {
    const of = { points: points.filter((point) => point !== unusual), unusual, grain };
    return [fitFlat(of), fitLine(of), ...fitSteps(of)].filter(({ kind }) => kinds.includes(kind));
  });
  const whole = fits.filter(({ unusual }) => unusual === null);
  const isJustified = (fit: Fit): boolean => {
    if (!isSignificant(fit)) return false;
    const same = whole.filter(({ kind }) => kind === fit.kind);
    // Without its unusual point, a course must explain far more than the best one of its kind with it.
    const squares = Math.min(...same.map((each) => each.squares));
    return fit.unusual === null || isOutlier(fit, squares);
  };
  return (
    fits
      .toSorted((one, other) => one.criterion - other.criterion)
      .find((fit) => isJustified(fit)) ?? fitFlat({ points, unusual: null, grain })
  );
}

type Fitted = Pick<Fit, "points" | "unusual" | "grain">;

function fitFlat(of: Fitted): Fit {
  const mean = meanOf(of.points);
  return toFit({ kind: "flat", ...of, valueAt: () => mean, rise: 0, week: 0 }, 1);
}

function fitLine(of: Fitted): Fit {
  const { points } = of;
  const mean = meanOf(points);
  const middle = middleOf(points);
  const products = sum(points, ({ week, value }) => (week - middle) * (value - mean));
  const rise = products / spreadOf(points);
  const valueAt = (week: number): number => mean + rise * (week - middle);
  return toFit({ kind: "line", ...of, valueAt, rise, week: 0 }, 2);
}

function fitSteps(of: Fitted): readonly Fit[] {
  const { points } = of;
  const places = Math.max(0, points.length - 2 * fewestOfStep + 1);
  return Array.from({ length: places }, (_, index) => {
    const at = index + fewestOfStep;
    const week = points[at]?.week ?? 0;
    const [before, after] = [meanOf(points.slice(0, at)), meanOf(points.slice(at))];
    const valueAt = (each: number): number => (each < week ? before : after);
    return toFit({ kind: "step", ...of, valueAt, rise: after - before, week }, 3);
  });
}

function toFit(fit: Omit<Fit, "squares" | "criterion">, parameters: number): Fit {
  const { points, unusual, grain, valueAt } = fit;
  const squares = sum(points, ({ week, value }) => (value - valueAt(week)) ** 2);
  const all = points.length + (unusual ? 1 : 0);
  // An unusual point is two parameters: its place and its value.
  const count = parameters + (unusual ? 2 : 0);
  const variance = squares / all + leastVariance(grain);
  return { ...fit, squares, criterion: all * Math.log(variance) + count * Math.log(all) };
}

function leastVariance(grain: number): number {
  return Math.max(leastDeviation, roundingDeviation * grain) ** 2;
}

function isSignificant({ kind, points, grain, rise, week, squares }: Fit): boolean {
  const { length } = points;
  const freedom = length - 2;
  const deviation = Math.sqrt(squares / freedom + leastVariance(grain));
  switch (kind) {
    case "flat":
      return true;
    case "line": {
      const weeks = (points.at(-1)?.week ?? 0) - (points[0]?.week ?? 0);
      const t = (rise * Math.sqrt(spreadOf(points))) / deviation;
      return Math.abs(rise) * weeks >= leastRise && chanceOf(t, freedom) < chances.line;
    }
    case "step": {
      const after = points.filter((point) => point.week >= week).length;
      const t = rise / (deviation * Math.sqrt(1 / after + 1 / (length - after)));
      const places = length - 2 * fewestOfStep + 1;
      return Math.abs(rise) >= leastStep && chanceOf(t, freedom) < chances.step / places;
    }
  }
}

/** @param squares what is left over by a course of the same kind through all points */
function isOutlier(fit: Fit, squares: number): boolean {
  const { unusual, points, grain, valueAt, kind } = fit;
  const least = Math.max(leastStep, 1.5 * grain);
  if (!unusual || Math.abs(unusual.value - valueAt(unusual.week)) < least) return false;
  const freedom = points.length - (kind === "flat" ? 1 : 2);
  const variance = fit.squares / freedom + leastVariance(grain);
  const t = Math.sqrt(Math.max(0, squares - fit.squares) / variance);
  return chanceOf(t, freedom) < chances.unusual / (points.length + 1);
}

/** The chance that Student's t is at least this far from 0. In closed form (Abramowitz and Stegun, 26.7.3 and 26.7.4). */
export function chanceOf(t: number, freedom: number): number {
  const angle = Math.atan(Math.abs(t) / Math.sqrt(freedom));
  const cosine = Math.cos(angle);
  const isOdd = freedom % 2 === 1;
  let term = isOdd ? cosine : 1;
  let series = freedom === 1 ? 0 : term;
  for (let power = isOdd ? 3 : 2; power < freedom; power += 2) {
    term *= (cosine ** 2 * (power - 1)) / power;
    series += term;
  }
  const within = isOdd
    ? (2 / Math.PI) * (angle + Math.sin(angle) * series)
    : Math.sin(angle) * series;
  return Math.max(0, 1 - within);
}

function sum(points: readonly Point[], of: (point: Point) => number): number {
  return points.reduce((total, point) => total + of(point), 0);
}

function meanOf(points: readonly Point[]): number {
  return sum(points, ({ value }) => value) / points.length;
}

function middleOf(points: readonly Point[]): number {
  return sum(points, ({ week }) => week) / points.length;
}

function spreadOf(points: readonly Point[]): number {
  const middle = middleOf(points);
  return sum(points, ({ week }) => (week - middle) ** 2);
}
