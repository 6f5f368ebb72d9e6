import type { Hold, ServerRule, TargetRule } from "../../../src/alerts/rule.ts";
import type { Status } from "../../../src/fleet/model.ts";
import { serverIds, type Script } from "./scripts.ts";
import { intervalMs } from "./watch.ts";

/** One moment at which a rule's condition was observed to hold or not, or its subject to be gone. */
interface Moment {
  readonly move: number;
  readonly seen: "holds" | "clears" | "gone";
  /** What this moment adds to a stretch that was observed at the one before. */
  readonly creditMs: number;
  readonly silenced: boolean;
}

type ServerId = (typeof serverIds)[number];
export type ExpectedStep = readonly [move: number, line: string];

/**
 * Which incidents must fire and resolve in a script, and at which move, found the slow way: from the script as a whole,
 * with no state carried from one poll to the next.
 */
export function expectedSteps(script: Script): readonly ExpectedStep[] {
  const edited = variantStarts(script).flatMap(({ variant, from, until }) =>
    serverIds.flatMap((id) => {
      const moments = momentsOfServer(script, id, "error");
      const during = moments.filter(({ move }) => move >= from && move < until);
      return episodes(during, script.variants[variant], ` ${id}`, until);
    }),
  );
  const steady = serverIds.flatMap((id) =>
    episodes(momentsOfServer(script, id, script.steady.status), script.steady, ` ${id}`, Infinity),
  );
  return [...edited, ...steady, ...episodes(momentsOfTarget(script), script.down, "", Infinity)];
}

/** The stretches of moves during which one version of the edited rule was in force. */
function variantStarts({ moves, variants }: Script) {
  const timing = variants.map((rule) => JSON.stringify([rule.for, rule.keepFiringForMs]));
  const starts: { variant: 0 | 1; from: number; until: number }[] = [
    { variant: 0, from: 0, until: Infinity },
  ];
  moves.forEach((move, index) => {
    const current = starts.at(-1);
    if (move.kind !== "restart" || !current) return;
    if (timing[move.variant] === timing[current.variant]) return;
    current.until = index;
    starts.push({ variant: move.variant, from: index, until: Infinity });
  });
  return starts;
}

/** What passed before a poll, on the clock of attempts or that of accepted listings. */
function creditMs({ moves }: Script, index: number, clock: "attempted" | "observed"): number {
  const move = moves[index];
  const before = moves[index - 1];
  if (!move || !before || before.kind === "restart") return 0;
  if (clock === "observed" && (before.kind === "failure" || move.kind === "failure")) return 0;
  return intervalMs + move.waitMs;
}

function momentsOfServer(script: Script, id: ServerId, wanted: Status): readonly Moment[] {
  return script.moves.flatMap((move, index): Moment[] => {
    if (move.kind !== "listing") return [];
    const status = move.shown[id];
    const { silenced } = move;
    // Neither a recovery nor time in the condition; but it is listed.
    if (status === "unknown" && wanted !== "unknown") return [];
    if (status !== null) {
      const seen = status === wanted ? "holds" : "clears";
      const ms = creditMs(script, index, "observed");
      return [{ move: index, seen, creditMs: ms, silenced }];
    }
    return isGoneAt(script, id, index)
      ? [{ move: index, seen: "gone", creditMs: 0, silenced }]
      : [];
  });
}

/** Whether this listing is the one, among those complete since the server was last shown, that proves it gone. */
function isGoneAt({ moves, goneAfter }: Script, id: ServerId, index: number): boolean {
  const until = moves.slice(0, index + 1);
  const lastShown = until.findLastIndex(
    (each) => each.kind === "listing" && each.shown[id] !== null,
  );
  const lacking = until
    .slice(lastShown + 1)
    .filter((each) => each.kind === "listing" && each.complete);
  return lastShown !== -1 && lacking.at(-1) === moves[index] && lacking.length === goneAfter;
}

function momentsOfTarget(script: Script): readonly Moment[] {
  return script.moves.flatMap(({ kind, silenced }, index): Moment[] => {
    if (kind === "restart") return [];
    const seen = kind === "failure" ? "holds" : "clears";
    return [{ move: index, seen, creditMs: creditMs(script, index, "attempted"), silenced }];
  });
}

function episodes(
  moments: readonly Moment[],
  rule: ServerRule | TargetRule,
  suffix: string,
  ruleEndsAt: number,
): ExpectedStep[] {
  const steps: ExpectedStep[] = [];
  const name = `${rule.name}${suffix}`;
  for (let begin = 0; begin < moments.length;) {
    const fired = firedAt(moments, begin, rule.for);
    if (fired === null) {
      begin += 1;
      // A stretch that was not held long enough is skipped whole: its later parts were shorter still.
      while (moments[begin]?.seen === "holds" && moments[begin - 1]?.seen === "holds") begin += 1;
      continue;
    }
    const end = resolvedAt(moments, fired, rule.keepFiringForMs);
    steps.push(...notifications(moments.slice(fired, end ?? undefined), name));
    if (end === null) {
      if (ruleEndsAt !== Infinity) steps.push([ruleEndsAt, `resolved ${name} (rule_removed)`]);
      break;
    }
    const reason = moments[end]?.seen === "gone" ? "gone" : "recovered";
    steps.push([moments[end]?.move ?? -1, `resolved ${name} (${reason})`]);
    begin = end + 1;
  }
  return steps;
}

/** What is notified of a condition from when it fires, as silences begin and end, to before its own end. */
function notifications(episode: readonly Moment[], name: string): ExpectedStep[] {
  const held = episode.filter(({ seen }) => seen === "holds");
  return held.flatMap(({ move, silenced }, index): ExpectedStep[] => {
    const wasNotified = index > 0 && held[index - 1]?.silenced === false;
    if (!silenced) return wasNotified ? [] : [[move, `fired ${name}`]];
    const muted: ExpectedStep = [move, `muted ${name}`];
    if (wasNotified) return [[move, `resolved ${name} (silenced)`], muted];
    return index === 0 ? [muted] : [];
  });
}

/** The moment at which a stretch that begins here has held for long enough; null: at none. */
function firedAt(moments: readonly Moment[], begin: number, hold: Hold): number | null {
  for (let end = begin; moments[end]?.seen === "holds"; end += 1) {
    const stretch = moments.slice(begin, end + 1);
    const isEnough =
      hold.kind === "polls" ? stretch.length >= hold.polls : lengthMs(stretch) >= hold.ms;
    if (isEnough) return end;
  }
  return null;
}

function resolvedAt(
  moments: readonly Moment[],
  fired: number,
  keepFiringForMs: number,
): number | null {
  for (let end = fired + 1; end < moments.length; end += 1) {
    if (moments[end]?.seen === "gone") return end;
    const lastHeld = moments.slice(0, end + 1).findLastIndex(({ seen }) => seen === "holds");
    const clear = moments.slice(lastHeld + 1, end + 1);
    if (clear.length > 0 && lengthMs(clear) >= keepFiringForMs) return end;
  }
  return null;
}

/** How long a stretch lasted from its first moment to its last. */
function lengthMs(stretch: readonly Moment[]): number {
  return stretch.slice(1).reduce((total, each) => total + each.creditMs, 0);
}
