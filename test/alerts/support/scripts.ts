import * as fc from "fast-check";
import type { Status } from "../../../src/fleet/model.ts";
import type { Hold, ServerRule, TargetRule } from "../../../src/alerts/rule.ts";
import { serverRule, targetRule } from "./samples.ts";

/** The servers of a script, by id, and how many sandboxes they lie in. */
export const serverIds = ["a", "b", "c"] as const;
export const sandboxOf = { a: "box-1", b: "box-1", c: "box-2" } as const;

export type ShownStatuses = Readonly<Record<(typeof serverIds)[number], Status | null>>;

/** What happens to a target, one move after another. */
export type Move = Said &
  (
    | {
        readonly kind: "listing";
        readonly complete: boolean;
        /** Null: the listing lacks it. */
        readonly shown: ShownStatuses;
      }
    | { readonly kind: "failure" }
    /** A start with one of the script's two variants of its edited rule. */
    | { readonly kind: "restart"; readonly variant: 0 | 1 }
  );

interface Again extends Said {
  readonly kind: "again";
}

/** How a move begins. */
interface Said {
  readonly waitMs: number;
  /** Whether a silence about everything is in force. */
  readonly silenced: boolean;
  /** Whether somebody acknowledges whatever is open. */
  readonly acknowledges: boolean;
}

export interface Script {
  readonly moves: readonly Move[];
  readonly goneAfter: number;
  /** One rule in two versions; which of them is in force can change at a restart. */
  readonly variants: readonly [ServerRule, ServerRule];
  /** About another status: an incident of its own would have a server judged by every rule. */
  readonly steady: ServerRule;
  readonly blind: TargetRule;
}

const waits = fc.constantFrom(0, 0, 15_000, 300_000);
const said = {
  waitMs: waits,
  silenced: fc.constantFrom(false, false, true),
  acknowledges: fc.constantFrom(false, false, false, true),
};
const durations = fc.constantFrom(0, 0, 30_000, 45_000, 90_000);

const holds: fc.Arbitrary<Hold> = fc.oneof(
  fc.record({ kind: fc.constant("duration" as const), ms: durations }),
  fc.record({ kind: fc.constant("polls" as const), polls: fc.integer({ min: 1, max: 3 }) }),
);

/** Errors and absences are what the rules are about, so they come often. */
const statusChoices: readonly (Status | null)[] = [
  "error",
  "error",
  "error",
  "idle",
  "idle",
  "unknown",
  null,
  null,
];
const statuses = fc.constantFrom(...statusChoices);

const listing: fc.Arbitrary<Move> = fc.record({
  kind: fc.constant("listing" as const),
  complete: fc.constantFrom(true, true, false),
  shown: fc.record({ a: statuses, b: statuses, c: statuses }),
  ...said,
});

/** What was listed last once more, where anything was. */
const again: fc.Arbitrary<Again> = fc.record({ kind: fc.constant("again" as const), ...said });

const failure: fc.Arbitrary<Move> = fc.record({
  kind: fc.constant("failure" as const),
  ...said,
});

const restart: fc.Arbitrary<Move> = fc.record({
  kind: fc.constant("restart" as const),
  variant: fc.constantFrom(0, 1),
  ...said,
});

function listAgain(moves: readonly (Move | Again)[]): readonly Move[] {
  let last: Pick<Extract<Move, { kind: "listing" }>, "shown" | "complete"> = {
    shown: { a: null, b: null, c: null },
    complete: true,
  };
  return moves.map((move) => {
    if (move.kind === "listing") last = move;
    if (move.kind !== "again") return move;
    return { ...move, kind: "listing", shown: last.shown, complete: last.complete };
  });
}

function serverRules(name: string, receivers: readonly string[]): fc.Arbitrary<ServerRule> {
  return fc
    .record({ for: holds, keepFiringForMs: durations })
    .map((timing) => serverRule({ name, receivers, ...timing }));
}

export const scripts: fc.Arbitrary<Script> = fc.record({
  moves: fc
    .array(
      fc.oneof(
        { arbitrary: listing, weight: 5 },
        { arbitrary: again, weight: 4 },
        { arbitrary: failure, weight: 2 },
        { arbitrary: restart, weight: 1 },
      ),
      { minLength: 4, maxLength: 24, size: "max" },
    )
    .map(listAgain),
  goneAfter: fc.integer({ min: 1, max: 3 }),
  variants: fc.tuple(
    serverRules("edited", ["oncall", "quiet", "ghost"]),
    serverRules("edited", ["quiet", "oncall"]),
  ),
  steady: serverRules("steady", ["quiet"]).map((rule) => ({ ...rule, status: "idle" as const })),
  blind: fc.record({ for: holds, keepFiringForMs: durations }).map((timing) => targetRule(timing)),
});

/** The same with reminders, and with rules that take what goes on and off often for one alert. */
export const flappingScripts: fc.Arbitrary<Script> = fc
  .tuple(
    scripts,
    fc.record({
      changes: fc.integer({ min: 1, max: 2 }),
      withinMs: fc.constantFrom(120_000, 600_000),
    }),
    fc.option(fc.constantFrom(30_000, 60_000), { nil: null }),
  )
  .map(([script, flap, remindEveryMs]) => {
    const [one, other] = script.variants;
    const more = { flap, remindEveryMs };
    return {
      ...script,
      variants: [
        { ...one, ...more },
        { ...other, ...more },
      ],
    };
  });
