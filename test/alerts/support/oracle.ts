import type { Status } from "../../../src/fleet/model.ts";
import type { Hold, ServerRule, TargetRule } from "../../../src/alerts/rule.ts";
import { serverIds } from "./scripts.ts";
import type { Script } from "./scripts.ts";
import { intervalMs } from "./watch.ts";

/** One moment at which a rule's condition was seen to hold or not, or its subject to be gone. */
interface SubjectStatus {
  readonly move: number;
  readonly seen: "holds" | "clears" | "gone";
  /** What this subjectStatus adds to a stretch that was seen at the one before. */
  readonly creditMs: number;
  readonly silenced: boolean;
}

export type ExpectedStep = readonly [move: number, line: string];

/**
 * Which incidents must fire and resolve in a script, and at which move, found the slow way: from
 * the script as a whole, with no state carried from one poll to the next.
 */
export function expectedSteps(script: Script): readonly ExpectedStep[] {
  const starts = variantStarts(script);
  const edited = starts.flatMap(({ variant, from, until }) =>
    serverIds.flatMap((id) => {
      const sightings = serverSightings(script, id, "error").filter(
        ({ move }) => move >= from && move < until,
      );
      return episodes(sightings, script.variants[variant], ` ${id}`, until);
    }),
  );
  const steady = serverIds.flatMap((id) =>
    episodes(serverSightings(script, id, script.steady.status), script.steady, ` ${id}`, Infinity),
  );
  return [...edited, ...steady, ...episodes(targetSightings(script), script.blind, "", Infinity)];
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

/** What passed before a poll, on either clock: the one of attempts, the one of accepted listings. */
function creditMs({ moves }: Script, index: number, clock: "attempted" | "observed"): number {
  const move = moves[index];
  const before = moves[index - 1];
  if (!move || !before || before.kind === "restart") return 0;
  if (clock === "observed" && (before.kind === "failure" || move.kind === "failure")) return 0;
  return intervalMs + move.waitMs;
}

function serverSightings(
  script: Script,
  id: (typeof serverIds)[number],
  wanted: Status,
): readonly SubjectStatus[] {
  return script.moves.flatMap((move, index): SubjectStatus[] => {
    if (move.kind !== "listing") return [];
    const status = move.shown[id];
    // Neither a recovery nor time in the condition; but it is listed.
    if (status === "unknown" && wanted !== "unknown") return [];
    if (status !== null) {
      const seen = status === wanted ? "holds" : "clears";
      const ms = creditMs(script, index, "observed");
      return [{ move: index, seen, creditMs: ms, silenced: move.silenced }];
    }
    const gone = { move: index, seen: "gone", creditMs: 0, silenced: move.silenced } as const;
    return goneAt(script, id, index) ? [gone] : [];
  });
}

/** Whether this listing is the one, among those complete since the server was last shown, that proves it gone. */
function goneAt(script: Script, id: (typeof serverIds)[number], index: number): boolean {
  const until = script.moves.slice(0, index + 1);
  const lastShown = until.findLastIndex(
    (each) => each.kind === "listing" && each.shown[id] !== null,
  );
  const lacking = until
    .slice(lastShown + 1)
    .filter((each) => each.kind === "listing" && each.complete);
  const move = script.moves[index];
  const isComplete = move?.kind === "listing" && move.complete;
  return lastShown !== -1 && isComplete && lacking.length === script.goneAfter;
}

function targetSightings(script: Script): readonly SubjectStatus[] {
  return script.moves.flatMap((move, index): SubjectStatus[] =>
    move.kind === "restart"
      ? []
      : [
          {
            move: index,
            seen: move.kind === "failure" ? "holds" : "clears",
            creditMs: creditMs(script, index, "attempted"),
            silenced: move.silenced,
          },
        ],
  );
}

function episodes(
  sightings: readonly SubjectStatus[],
  rule: ServerRule | TargetRule,
  suffix: string,
  ruleEndsAt: number,
): ExpectedStep[] {
  const steps: ExpectedStep[] = [];
  for (let begin = 0; begin < sightings.length;) {
    const fired = firedAt(sightings, begin, rule.for);
    if (fired === null) {
      begin += 1;
      // A stretch that was not held long enough is skipped whole: its later parts were shorter still.
      while (sightings[begin]?.seen === "holds" && sightings[begin - 1]?.seen === "holds")
        begin += 1;
      continue;
    }
    const end = resolvedAt(sightings, fired, rule.keepFiringForMs);
    steps.push(...tellings(sightings.slice(fired, end ?? undefined), `${rule.name}${suffix}`));
    const line = `resolved ${rule.name}${suffix}`;
    if (end === null) {
      if (ruleEndsAt !== Infinity) steps.push([ruleEndsAt, `${line} (rule_removed)`]);
      break;
    }
    const reason = sightings[end]?.seen === "gone" ? "gone" : "recovered";
    steps.push([sightings[end]?.move ?? -1, `${line} (${reason})`]);
    begin = end + 1;
  }
  return steps;
}

/** What is told of a condition from when it fires, as silences begin and end, to before its own end. */
function tellings(episode: readonly SubjectStatus[], name: string): ExpectedStep[] {
  const held = episode.filter(({ seen }) => seen === "holds");
  return held.flatMap(({ move, silenced }, index): ExpectedStep[] => {
    const toldBefore = index > 0 && held[index - 1]?.silenced === false;
    if (silenced === !toldBefore) return index > 0 ? [] : [[move, `muted ${name}`]];
    return silenced
      ? [
          [move, `resolved ${name} (silenced)`],
          [move, `muted ${name}`],
        ]
      : [[move, `fired ${name}`]];
  });
}

/** The subjectStatus at which a stretch that begins here has held for long enough; null: at none. */
function firedAt(sightings: readonly SubjectStatus[], begin: number, hold: Hold): number | null {
  for (let end = begin; end < sightings.length; end += 1) {
    const stretch = sightings.slice(begin, end + 1);
    if (stretch.some(({ seen }) => seen !== "holds")) return null;
    const enough =
      hold.kind === "polls" ? stretch.length >= hold.polls : lengthMs(stretch) >= hold.ms;
    if (enough) return end;
  }
  return null;
}

function resolvedAt(
  sightings: readonly SubjectStatus[],
  fired: number,
  keepFiringForMs: number,
): number | null {
  for (let end = fired + 1; end < sightings.length; end += 1) {
    if (sightings[end]?.seen === "gone") return end;
    const lastHeld = sightings.slice(0, end + 1).findLastIndex(({ seen }) => seen === "holds");
    const clear = sightings.slice(lastHeld + 1, end + 1);
    if (clear.length > 0 && lengthMs(clear) >= keepFiringForMs) return end;
  }
  return null;
}

/** How long a stretch lasted from its first subjectStatus to its last. */
function lengthMs(stretch: readonly SubjectStatus[]): number {
  return stretch.slice(1).reduce((total, each) => total + each.creditMs, 0);
}
