import { expect } from "vitest";
import type { RegionsDown } from "../../../src/alerts/silence.ts";
import type { IncidentOutcome } from "../../../src/alerts/incident-engine.ts";
import type { ConfiguredReceiver } from "../../../src/alerts/recipients.ts";
import { judgePoll, retireIncidents } from "../../../src/alerts/judge.ts";
import type { JudgeOptions, PollOutcome, Verdict } from "../../../src/alerts/judge.ts";
import type { OutboxItem } from "../../../src/alerts/notification.ts";
import { holdIncidents } from "../../../src/alerts/target-state.ts";
import type { Hold, RegionRule, Rule, ServerRule, TargetRule } from "../../../src/alerts/rule.ts";
import type { SilenceMatch, Suppressions } from "../../../src/alerts/silence.ts";
import { nothingKnown } from "../../../src/alerts/target-state.ts";
import type { FailureReason, Status } from "../../../src/fleet/model.ts";
import { runAtOnce } from "../../../src/fleet/slices.ts";
import { emptySnapshot, restoreSnapshot, type ListedServer } from "../../../src/fleet/snapshot.ts";
import { watchTarget, type RestoredTarget } from "../../../src/polling/watched-target.ts";
import { research, server, serverError, startMs, targetDown } from "../../support/fleet.ts";
import { readListing, type Listing } from "../../support/listing.ts";

export const intervalMs = 30_000;
export const lasting = (ms: number): Hold => ({ kind: "duration", ms });
export const inPolls = (polls: number): Hold => ({ kind: "polls", polls });

export const serverRule = (more: Partial<ServerRule> = {}): ServerRule => ({
  ...serverError,
  ...more,
});
export const targetRule = (more: Partial<TargetRule> = {}): TargetRule => ({
  ...targetDown,
  ...more,
});

/** A region fails when one of its targets has failed twice. */
export const regionRule = (more: Partial<RegionRule> = {}): RegionRule => ({
  ...targetDown,
  name: "region-down",
  on: "region",
  severity: "critical",
  for: inPolls(2),
  ...more,
});

export const showing = (status: Status, id = "a", more: Partial<ListedServer> = {}) =>
  server(id, { status, ...more });
export const broken = showing("error");
export const idle = showing("idle");

/** A listing of one sandbox, `box`. */
export function listingOf(servers: readonly ListedServer[], complete = true): Listing {
  return {
    sandboxes: [{ id: "box", status: "idle", benchmark: null, createdAt: null, servers }],
    complete,
  };
}

export interface WatchOptions {
  readonly rules?: readonly Rule[];
  readonly goneAfter?: number;
  /** The receivers that exist, and whether each wants to be notified of resolves. */
  readonly receivers?: Readonly<Record<string, boolean>>;
  /** What each of them is notified of, and when; missing: everything, always. */
  readonly routing?: Readonly<
    Record<string, Pick<ConfiguredReceiver, "route" | "isOpenAt" | "keepsAlert">>
  >;
}

type Known = Omit<RestoredTarget, "id" | "target">;

/** One target and its polls, 30 seconds apart. */
export function createWatch(options: WatchOptions = {}) {
  let settings = {
    rules: [serverRule()] as readonly Rule[],
    goneAfter: 2,
    receivers: { oncall: true } as Readonly<Record<string, boolean>>,
    routing: undefined as WatchOptions["routing"],
    ...options,
  };
  const outbox: OutboxItem[] = [];
  const acknowledgements = new Map<string, string>();
  let silenced: Suppressions["silenced"] = [];
  let regionsDown: Suppressions["regionsDown"] = new Map();
  let utcMs = startMs;
  let monotonicMs = 5_000;
  let incidentsOpened = 0;

  const judgeOptions = (): JudgeOptions => ({
    ...settings,
    suppressions: { silenced, acknowledgedBy: acknowledgements, regionsDown },
    receivers: new Map(
      Object.entries(settings.receivers).map(([name, sendResolved]) => [
        name,
        { sendResolved, sendAcknowledged: false, ...settings.routing?.[name] },
      ]),
    ),
    newIncidentId: () => `incident-${(incidentsOpened += 1)}`,
  });

  const start = (known: Known = nothingKnown, snapshot = emptySnapshot) =>
    watchTarget({ ...known, id: 1, target: research }, snapshot, {
      staleAfter: 3,
      restoredForMs: Number.POSITIVE_INFINITY,
      nowUtcMs: utcMs,
    });
  let watched = start();

  const pass = (ms: number): void => {
    utcMs += ms;
    monotonicMs += ms;
  };
  const poll = (outcome: PollOutcome): Verdict => {
    pass(intervalMs);
    const verdict = judgePoll(watched.state, outcome, { utcMs, monotonicMs }, judgeOptions());
    outbox.push(...verdict.incidents.outbox);
    watched.accept(verdict);
    return verdict;
  };
  const list = (listing: Listing) => poll({ kind: "listed", listing: readListing(listing) });

  return {
    get state() {
      return watched.state;
    },
    /** All items so far, in order. */
    outbox,
    /** Every poll comes one interval after the one before, and this much later. */
    wait: pass,
    /** The wall clock jumps, as it does where the machine was suspended: the monotonic one stands still meanwhile. */
    stepUtc: (ms: number): void => void (utcMs += ms),
    list,
    see: (...servers: readonly ListedServer[]) => list(listingOf(servers)),
    seePart: (...servers: readonly ListedServer[]) => list(listingOf(servers, false)),
    fail: (reason: FailureReason = "timeout") => poll({ kind: "failed", reason }),
    backOff: () => poll({ kind: "backing_off" }),
    /** From now on this silence is in force, and no other; null: none. */
    silence(match: SilenceMatch | null): void {
      silenced = match ? [{ match, by: "ann", endsAtMs: Infinity }] : [];
    },
    /** From now on these incidents of regions fire. */
    setRegionsDown(down: RegionsDown): void {
      regionsDown = down;
    },
    acknowledge(author = "ada"): void {
      for (const { id } of watched.state.incidents.values()) acknowledgements.set(id, author);
    },
    /** Nobody acknowledged anything any more. */
    unacknowledge: (): void => acknowledgements.clear(),
    /** A new process with what was written, and these rules (or the same ones). */
    restart(more: WatchOptions = {}): IncidentOutcome {
      settings = { ...settings, ...more };
      const { progress, incidents, flaps, snapshot } = watched.state;
      const known = structuredClone([[...incidents.values()], [...flaps.values()]] as const);
      const held = holdIncidents(...known);
      const retired = retireIncidents({ ...held, target: research }, utcMs, judgeOptions());
      held.apply(retired);
      outbox.push(...retired.outbox);
      monotonicMs = 1_000;
      const restored = runAtOnce(restoreSnapshot(structuredClone(snapshot.sandboxes)));
      const open = {
        openIncidents: [...held.incidents.values()],
        flaps: [...held.flaps.values()],
      };
      watched = start({ ...structuredClone({ progress }), ...open }, restored);
      return retired;
    },
  };
}
export type Watch = ReturnType<typeof createWatch>;

/** Steps as short lines: "fired server-error a", "resolved target-down (recovered)". */
export function stepsOf({ steps }: IncidentOutcome): readonly string[] {
  return steps.map(({ step, incident: { rule, subject, phase } }) => {
    const id = subject.kind === "server" ? ` ${subject.serverId}` : "";
    const reason = step === "resolved" && phase.name === "resolved" ? ` (${phase.reason})` : "";
    return `${step} ${rule}${id}${reason}`;
  });
}

/** Outbox items as short lines: "oncall firing incident-1". */
export function linesOf(items: readonly OutboxItem[]): readonly string[] {
  return items.map(
    ({ receiver, type, incident }) => `${receiver} ${type.replace("incident.", "")} ${incident.id}`,
  );
}

/** What was put into the outbox since the last call. */
export function createReader({ outbox }: Watch) {
  let read = 0;
  return () => {
    const lines = linesOf(outbox.slice(read));
    read = outbox.length;
    return lines;
  };
}

/** What the symbols of a story do with one server, `a`. Capital letters: the listing is partial. */
const moves: Readonly<Record<string, (watch: Watch) => IncidentOutcome | null>> = {
  e: (watch) => watch.see(broken).incidents,
  i: (watch) => watch.see(idle).incidents,
  u: (watch) => watch.see(showing("unknown")).incidents,
  E: (watch) => watch.seePart(broken).incidents,
  I: (watch) => watch.seePart(idle).incidents,
  /** Listings without the server. */
  ".": (watch) => watch.see().incidents,
  "-": (watch) => watch.seePart().incidents,
  /** Failed and refused polls; one that is not sent, as the key was refused. */
  "!": (watch) => watch.fail().incidents,
  x: (watch) => watch.fail("auth").incidents,
  w: (watch) => watch.backOff().incidents,
  R: (watch) => watch.restart(),
  D: (watch) => (watch.wait(86_400_000), null),
  "(": (watch) => (watch.silence({}), null),
  ")": (watch) => (watch.silence(null), null),
  K: (watch) => (watch.acknowledge(), null),
};

/**
 * Plays a story, in which the steps of incidents stand in brackets behind the move that leads to them, with the rule
 * where it is not a default one: "e[fired]i[recovered]". `i{19}` is nineteen times `i`.
 *
 * @returns what was played, and what should have been
 */
export function play(watch: Watch, story: string): readonly [played: string, expected: string] {
  const expected = story.replaceAll(/(.)\{(\d+)\}/g, (_, letter: string, times: string) =>
    letter.repeat(Number(times)),
  );
  const played = Array.from(expected.replaceAll(/\[[^\]]*\]/g, ""), (letter) => {
    const steps = (moves[letter]?.(watch)?.steps ?? []).map(({ step, incident }) => {
      const { rule, phase } = incident;
      const text = step === "resolved" && phase.name === "resolved" ? phase.reason : step;
      return ["server-error", "target-down"].includes(rule) ? text : `${text} ${rule}`;
    });
    return steps.length === 0 ? letter : `${letter}[${steps.join(", ")}]`;
  });
  return [played.join(""), expected];
}

/** A watch for which the story is true. */
export function watchAfter(story: string, options: WatchOptions = {}): Watch {
  const watch = createWatch(options);
  const [played, expected] = play(watch, story);
  expect(played).toBe(expected);
  return watch;
}
