import * as fc from "fast-check";
import type { Hold, ServerRule, TargetRule } from "../../../src/alerts/rule.ts";
import type { Status } from "../../../src/fleet/model.ts";
import { serverRule, targetRule } from "./watch.ts";

/** The servers of a script, by id, and the sandboxes that contain them. */
export const serverIds = ["a", "b", "c"] as const;
export const sandboxOf = { a: "box-1", b: "box-1", c: "box-2" } as const;

/** Null: the listing lacks the server. */
export type ShownStatuses = Readonly<Record<(typeof serverIds)[number], Status | null>>;

interface Listed {
  readonly complete: boolean;
  readonly shown: ShownStatuses;
}

/** What happens to a target, one move after another. */
export type Move = {
  readonly waitMs: number;
  /** Whether a silence about everything is in force. */
  readonly silenced: boolean;
  /** Whether all open incidents are acknowledged. */
  readonly acknowledges: boolean;
} & (
  | ({ readonly kind: "listing" } & Listed)
  | { readonly kind: "failure" }
  /** A start with one of the script's two variants of its edited rule. */
  | { readonly kind: "restart"; readonly variant: 0 | 1 }
);

export interface Script {
  readonly moves: readonly Move[];
  readonly goneAfter: number;
  /** One rule in two versions; which of them is in force can change at a restart. */
  readonly variants: readonly [ServerRule, ServerRule];
  /** About another status: an incident of its own would have a server judged by every rule. */
  readonly steady: ServerRule;
  readonly down: TargetRule;
}

const context = {
  waitMs: fc.constantFrom(0, 0, 15_000, 300_000),
  silenced: fc.constantFrom(false, false, true),
  acknowledges: fc.constantFrom(false, false, false, true),
};

/** Errors and absences are what the rules are about, so they come often. */
const statusChoices: readonly (Status | null)[] = [
  ...(["error", "error", "error", "idle", "idle", "unknown"] as const),
  null,
  null,
];
const statuses = fc.constantFrom(...statusChoices);

/** `again`: what was listed last is listed once more. */
const moves = fc
  .array(
    fc.oneof(
      {
        weight: 5,
        arbitrary: fc.record({
          kind: fc.constant("listing" as const),
          complete: fc.constantFrom(true, true, false),
          shown: fc.record({ a: statuses, b: statuses, c: statuses }),
          ...context,
        }),
      },
      { weight: 4, arbitrary: fc.record({ kind: fc.constant("again" as const), ...context }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant("failure" as const), ...context }) },
      {
        weight: 1,
        arbitrary: fc.record({
          kind: fc.constant("restart" as const),
          variant: fc.constantFrom(0 as const, 1 as const),
          ...context,
        }),
      },
    ),
    { minLength: 4, maxLength: 24, size: "max" },
  )
  .map((drafts): readonly Move[] => {
    let last: Listed = { shown: { a: null, b: null, c: null }, complete: true };
    return drafts.map((move) => {
      if (move.kind === "listing") last = { shown: move.shown, complete: move.complete };
      return move.kind === "again" ? { ...move, kind: "listing", ...last } : move;
    });
  });

const durations = fc.constantFrom(0, 0, 30_000, 45_000, 90_000);
const holds: fc.Arbitrary<Hold> = fc.oneof(
  fc.record({ kind: fc.constant("duration" as const), ms: durations }),
  fc.record({ kind: fc.constant("polls" as const), polls: fc.integer({ min: 1, max: 3 }) }),
);
const timings = fc.record({ for: holds, keepFiringForMs: durations });

const serverRules = (more: Partial<ServerRule>): fc.Arbitrary<ServerRule> =>
  timings.map((timing) => serverRule({ ...more, ...timing }));

export const scripts: fc.Arbitrary<Script> = fc.record({
  moves,
  goneAfter: fc.integer({ min: 1, max: 3 }),
  variants: fc.tuple(
    serverRules({ name: "edited", receivers: ["oncall", "quiet", "ghost"] }),
    serverRules({ name: "edited", receivers: ["quiet", "oncall"] }),
  ),
  steady: serverRules({ name: "steady", receivers: ["quiet"], status: "idle" }),
  down: timings.map((timing) => targetRule(timing)),
});

/** The same with reminders and flapping. */
export const flappingScripts: fc.Arbitrary<Script> = fc
  .tuple(
    scripts,
    fc.record({
      flap: fc.record({
        changes: fc.integer({ min: 1, max: 2 }),
        withinMs: fc.constantFrom(120_000, 600_000),
      }),
      remindEveryMs: fc.option(fc.constantFrom(30_000, 60_000), { nil: null }),
    }),
  )
  .map(([script, more]) => {
    const [one, other] = script.variants;
    return {
      ...script,
      variants: [
        { ...one, ...more },
        { ...other, ...more },
      ],
    };
  });
