import * as fc from "fast-check";
import type { FailureReason, Presence, Status } from "../../../src/fleet/model.ts";
import { statuses } from "../../../src/fleet/model.ts";

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** What a server or sandbox of a world is, from the world's beginning on. */
interface ScriptSubject {
  readonly sandboxId: string;
  /** One after the other; the last one goes on for ever. */
  readonly dwells: readonly { readonly presence: Presence; readonly ms: number }[];
}

export interface ScriptServer extends ScriptSubject {
  readonly serverId: string;
  readonly serverName: string | null;
  /** When it gets another name, since the world began. Null: never. */
  readonly renamedMs: number | null;
}

/** One that is absent is listed as long as any of its servers is. */
export interface ScriptSandbox extends ScriptSubject {
  readonly benchmark: string | null;
}

/** What happens when it is a target's turn. */
export interface ScriptTurn {
  readonly waitMs: number;
  /** The turn comes at a whole multiple of this after the wait. */
  readonly roundMs: number;
  /** The wall clock is stepped before it. */
  readonly steppedMs: number;
  /** The process was killed before it, and another one started. */
  readonly restarts: boolean;
  readonly outcome: "complete" | "partial" | FailureReason;
  /** Of a partial listing: which servers and which sandboxes without servers it lacks, a bit for each. */
  readonly hidden: number;
  /** Whether what it decided could be written. */
  readonly kept: boolean;
}

export interface Script {
  readonly servers: readonly ScriptServer[];
  readonly sandboxes: readonly ScriptSandbox[];
  readonly turns: readonly ScriptTurn[];
  readonly goneAfter: number;
}

const presences: readonly Presence[] = ["absent", "absent", "idle", "occupied", ...statuses];

const lengths = fc.oneof(
  { arbitrary: fc.integer({ min: 1, max: 90 * secondMs }), weight: 9 },
  { arbitrary: fc.integer({ min: 1, max: 20 * minuteMs }), weight: 9 },
  { arbitrary: fc.integer({ min: 1, max: 5 * hourMs }), weight: 5 },
  { arbitrary: fc.integer({ min: 1, max: 30 * hourMs }), weight: 1 },
);

const dwells = fc.array(fc.record({ presence: fc.constantFrom(...presences), ms: lengths }), {
  minLength: 1,
  maxLength: 12,
});

/** Of few sandboxes and names, so that servers share them; names repeat over sandboxes. */
const servers = fc
  .array(
    fc.record({
      sandbox: fc.nat(2),
      serverName: fc.constantFrom("git", "git", "jira", "__proto__", null),
      renamedMs: fc.option(lengths),
      dwells,
    }),
    { minLength: 1, maxLength: 5 },
  )
  .map((drawn) =>
    drawn.map(({ sandbox, ...rest }, at): ScriptServer => {
      return { sandboxId: `box-${sandbox}`, serverId: `server-${at}`, ...rest };
    }),
  );

const sandboxes = fc
  .array(fc.record({ benchmark: fc.constantFrom("swe", "swe", "web", null), dwells }), {
    minLength: 3,
    maxLength: 3,
  })
  .map((drawn) => drawn.map((each, at): ScriptSandbox => ({ sandboxId: `box-${at}`, ...each })));

/** Most turns come as they should; what a wait is rounded to puts some right between two buckets. */
const turns = (steps: fc.Arbitrary<number>): fc.Arbitrary<readonly ScriptTurn[]> =>
  fc.array(
    fc.record({
      waitMs: fc.oneof(
        { arbitrary: fc.constantFrom(0, 1, 30 * secondMs, 30 * secondMs), weight: 6 },
        { arbitrary: lengths, weight: 4 },
        { arbitrary: fc.constantFrom(5 * minuteMs, hourMs, 3 * hourMs), weight: 1 },
      ),
      roundMs: fc.oneof(
        { arbitrary: fc.constant(1), weight: 24 },
        { arbitrary: fc.constant(5 * minuteMs), weight: 6 },
        { arbitrary: fc.constant(hourMs), weight: 3 },
        { arbitrary: fc.constant(dayMs), weight: 1 },
      ),
      steppedMs: steps,
      restarts: fc.constantFrom(false, false, false, false, true),
      outcome: fc.constantFrom(
        ...(["complete", "complete", "complete", "complete", "complete"] as const),
        ...(["partial", "timeout"] as const),
      ),
      hidden: fc.nat(255),
      kept: fc.constantFrom(true, true, true, true, true, true, false),
    }),
    { minLength: 2, maxLength: 30, size: "max" },
  );

/** @param steps how far the wall clock is stepped before a turn. Milliseconds */
export function scripts(steps: fc.Arbitrary<number>): fc.Arbitrary<Script> {
  const goneAfter = fc.integer({ min: 1, max: 3 });
  return fc.record({ servers, sandboxes, turns: turns(steps), goneAfter });
}

/** Into the future alone, and seldom. */
export const forwardSteps = fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 0, 1, 7 * minuteMs, 26 * hourMs);

export const anySteps = fc.oneof(
  { arbitrary: fc.constant(0), weight: 6 },
  { arbitrary: fc.integer({ min: -2 * dayMs, max: 2 * dayMs }), weight: 1 },
  { arbitrary: fc.integer({ min: -90 * secondMs, max: 90 * secondMs }), weight: 1 },
);

/** @param atMs since the world began */
export function statusAt({ dwells: all }: ScriptSubject, atMs: number): Status | null {
  let endMs = 0;
  const current = all.find(({ ms }) => (endMs += ms) > atMs) ?? all.at(-1);
  return current === undefined || current.presence === "absent" ? null : current.presence;
}

/** @param atMs since the world began */
export function nameAt({ serverName, renamedMs }: ScriptServer, atMs: number): string | null {
  return renamedMs !== null && renamedMs <= atMs ? "renamed" : serverName;
}
