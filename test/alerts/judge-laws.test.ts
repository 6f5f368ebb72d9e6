import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { flapKey } from "../../src/alerts/flap-record.ts";
import { subjectKey } from "../../src/alerts/grouping.ts";
import type { IncidentOutcome } from "../../src/alerts/incident-engine.ts";
import { judgeInSlices, judgePoll } from "../../src/alerts/judge.ts";
import { eachServer, type ListedSandbox } from "../../src/fleet/snapshot.ts";
import { judgeBy, startMs } from "../support/fleet.ts";
import { readListing } from "../support/listing.ts";
import { expectedSteps, type ExpectedStep } from "./support/oracle.ts";
import { flappingScripts, sandboxOf, scripts, serverIds } from "./support/scripts.ts";
import type { Move, Script, ShownStatuses } from "./support/scripts.ts";
import { createWatch, listingOf, serverRule, showing, stepsOf } from "./support/watch.ts";
import type { Watch } from "./support/watch.ts";

/** Whether a receiver wants resolves; `ghost`, which the rules name too, does not exist. */
const receivers = { oncall: true, quiet: false };

const check = (
  arbitrary: fc.Arbitrary<Script>,
  holds: (script: Script) => void,
  numRuns = 100,
): void => fc.assert(fc.property(arbitrary, holds), { numRuns });

function sandboxesOf(shown: ShownStatuses): readonly ListedSandbox[] {
  const listed = serverIds.flatMap((id) => {
    const status = shown[id];
    return status === null ? [] : [{ id: sandboxOf[id], server: showing(status, id) }];
  });
  return Array.from(
    Map.groupBy(listed, ({ id }) => id),
    ([id, some]) => ({
      id,
      status: "idle",
      benchmark: null,
      createdAt: null,
      servers: some.map(({ server }) => server),
    }),
  );
}

function rulesOf({ variants, steady, down }: Script, variant: 0 | 1 = 0) {
  return [variants[variant], steady, down];
}

function watchOf(script: Script): Watch {
  return createWatch({ rules: rulesOf(script), goneAfter: script.goneAfter, receivers });
}

/** @param others listed beside what a move shows */
function make(
  watch: Watch,
  move: Move,
  script: Script,
  others: readonly ListedSandbox[] = [],
): IncidentOutcome {
  watch.wait(move.waitMs);
  watch.silence(move.silenced ? {} : null);
  if (move.acknowledges) watch.acknowledge();
  switch (move.kind) {
    case "restart":
      return watch.restart({ rules: rulesOf(script, move.variant) });
    case "failure":
      return watch.fail().incidents;
    case "listing": {
      const sandboxes = [...sandboxesOf(move.shown), ...others];
      return watch.list({ sandboxes, complete: move.complete }).incidents;
    }
  }
}

/** Plays a script from its beginning, and shows what each move did. */
function play(script: Script, visit: (outcome: IncidentOutcome, index: number) => void): Watch {
  const watch = watchOf(script);
  script.moves.forEach((move, index) => visit(make(watch, move, script), index));
  return watch;
}

it("every episode fires or is muted exactly when it must, and resolves when it must", () => {
  check(scripts, (script) => {
    const steps: ExpectedStep[] = [];
    play(script, (outcome, index) => {
      for (const line of stepsOf(outcome)) {
        if (/^(fired|muted|resolved)/.test(line)) steps.push([index, line]);
      }
    });
    expect(steps.map(String).toSorted()).toEqual(expectedSteps(script).map(String).toSorted());
  });
});

it("the last notification of a subject is about its state, or the silence about it", () => {
  check(flappingScripts, (script) => {
    const watch = watchOf(script);
    for (const move of script.moves) {
      make(watch, move, script);
      const toOncall = watch.outbox.filter(({ receiver }) => receiver === "oncall");
      const last = [...new Map(toOncall.map((item) => [subjectKey(item), item])).values()];
      const open = last.filter(({ type }) => type !== "incident.resolved");
      const known = new Set(toOncall.map(({ incident }) => incident.id));
      const firing = [...watch.state.incidents.values()].filter(
        ({ id, phase }) => phase.name === "firing" && phase.notifiedAtMs !== null && known.has(id),
      );
      expect(open.map(({ incident }) => incident.id).toSorted()).toEqual(
        firing.map(({ id }) => id).toSorted(),
      );
    }
  });
});

/** Without how many servers there are, and are unobserved. */
const asAlone = (outcome: object): unknown =>
  JSON.parse(
    JSON.stringify(outcome, (name, value: unknown) =>
      name === "unmonitored" || name === "total" ? null : value,
    ),
  );

it("a listing like the last one does what it does beside a server that no rule is about", () => {
  const holds = (script: Script): void => {
    const alone = watchOf(script);
    const beside = watchOf(script);
    for (const [index, move] of script.moves.entries()) {
      const servers = [showing("occupied", "z", { benchmark: `${index}` })];
      const other: ListedSandbox = {
        id: "box-3",
        status: "idle",
        benchmark: null,
        createdAt: null,
        servers,
      };
      const outcome = make(beside, move, script, [other]);
      expect(asAlone(byIncident(make(alone, move, script)))).toEqual(asAlone(byIncident(outcome)));
      expect(alone.state.incidents).toEqual(beside.state.incidents);
    }
  };
  check(flappingScripts, holds, 400);
});

it("a restart under the same rules changes nothing that is known", () => {
  const holds = (script: Script): void => {
    const watch = watchOf(script);
    const known = () => {
      const { progress, incidents, snapshot } = watch.state;
      const servers = new Set([...eachServer(snapshot)].map((each) => JSON.stringify(each)));
      return structuredClone({ progress, incidents: new Map(incidents), servers });
    };
    for (const move of script.moves) {
      if (move.kind !== "restart") make(watch, move, script);
      const before = known();
      const { steps, written } = watch.restart();
      expect([steps, written, known()]).toEqual([[], [], before]);
    }
  };
  check(scripts, holds, 60);
});

/** Of one poll: the order in which incidents are judged does not matter. */
function byIncident({ written, dropped, flaps, steps, outbox }: IncidentOutcome) {
  const sorted = <T>(items: readonly T[], keyOf: (item: T) => string) =>
    items.toSorted((one, other) => keyOf(one).localeCompare(keyOf(other)));
  return {
    written: sorted(written, ({ id }) => id),
    dropped: sorted(dropped, ({ id }) => id),
    steps: sorted(steps, ({ incident }) => incident.id),
    outbox: sorted(outbox, ({ incident }) => incident.id),
    flaps: sorted(flaps, flapKey),
  };
}

describe("judging", () => {
  const at = { utcMs: startMs + 9e6, monotonicMs: 9e6 };
  const options = { ...judgeBy([serverRule()]), newIncidentId: () => "id" };
  const erring = (count: number) =>
    Array.from({ length: count }, (_, index) => showing("error", `server-${index}`));
  const listed = (count: number) =>
    ({ kind: "listed", listing: readListing(listingOf(erring(count))) }) as const;
  /** Of judging some servers in error after some others. */
  const pauses = (before: number, count: number): number => {
    const watch = createWatch();
    watch.see(...erring(before));
    return Array.from(judgeInSlices(watch.state, listed(count), at, options)).length;
  };

  it("gives the same verdict for the same, and does not change the state", () => {
    const { see, state } = createWatch();
    see(...erring(2));
    const before = structuredClone([state.incidents, state.snapshot.sandboxes]);
    const judge = () => judgePoll(state, listed(1), at, options);
    expect(judge()).toEqual(judge());
    expect([state.incidents, state.snapshot.sandboxes]).toEqual(before);
  });

  it("pauses again and again while thousands of incidents fire, go on or are unobserved", () => {
    // A few servers are judged without a pause: such polls may be committed together.
    expect([pauses(0, 20), pauses(20, 20)]).toEqual([0, 0]);
    for (const [before, count] of [
      [0, 2_000],
      [2_000, 2_000],
      [2_000, 0],
    ] as const) {
      expect(pauses(before, count)).toBeGreaterThan(12);
    }
  });

  it("walks a listing a few times, however many incidents its servers have", () => {
    let reads = 0;
    const servers = erring(2_000).map(({ id, ...rest }) => ({
      ...rest,
      get id() {
        reads += 1;
        return id;
      },
    }));
    const watch = createWatch();
    watch.see(...servers);
    reads = 0;
    expect(stepsOf(watch.see(...servers).incidents)).toEqual([]);
    expect(watch.state.incidents.size).toBe(2_000);
    expect(reads).toBeLessThan(20 * 2_000);
  });
});
