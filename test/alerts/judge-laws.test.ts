import * as fc from "fast-check";
import { expect, it } from "vitest";
import type { IncidentOutcome } from "../../src/alerts/incident-engine.ts";
import { flapKey } from "../../src/alerts/flap-record.ts";
import { subjectKey } from "../../src/alerts/grouping.ts";
import type { ListedSandbox } from "../../src/fleet/snapshot.ts";
import type { OutboxItem } from "../../src/alerts/notification.ts";
import { listedSandbox, listedServer } from "./support/samples.ts";
import { expectedSteps } from "./support/oracle.ts";
import type { ExpectedStep } from "./support/oracle.ts";
import { flappingScripts, sandboxOf, scripts, serverIds } from "./support/scripts.ts";
import type { Move, Script, ShownStatuses } from "./support/scripts.ts";
import { linesOf, stepsOf } from "./support/steps.ts";
import { eachServer } from "../../src/fleet/snapshot.ts";
import { createWatch } from "./support/watch.ts";
import type { Watch } from "./support/watch.ts";

/** Whether a receiver wants to hear of resolves; `ghost`, which the rules name too, does not exist. */
const receivers = { oncall: true, quiet: false };

const runs = { numRuns: 100 };

function sandboxesOf(shown: ShownStatuses): readonly ListedSandbox[] {
  const servers = serverIds.flatMap((id) => {
    const status = shown[id];
    return status === null ? [] : [{ box: sandboxOf[id], server: listedServer(id, status) }];
  });
  const byBox = Map.groupBy(servers, ({ box }) => box);
  return [...byBox].map(([box, held]) =>
    listedSandbox(
      box,
      held.map(({ server }) => server),
    ),
  );
}

function watchOf({ variants, steady, blind, goneAfter }: Script): Watch {
  return createWatch({ rules: [variants[0], steady, blind], goneAfter, receivers });
}

/** @param others listed beside what a move shows */
function make(
  watch: Watch,
  move: Move,
  { variants, steady, blind }: Script,
  others: readonly ListedSandbox[] = [],
): IncidentOutcome {
  watch.wait(move.waitMs);
  watch.silence(move.silenced ? () => true : null);
  if (move.acknowledges) {
    for (const { id } of watch.state.incidents.values()) watch.acknowledge(id, "ada");
  }
  switch (move.kind) {
    case "restart":
      return watch.restart({ rules: [variants[move.variant], steady, blind] });
    case "failure":
      return watch.fail().incidents;
    case "listing": {
      const sandboxes = [...sandboxesOf(move.shown), ...others];
      const listing = { sandboxes, complete: move.complete };
      return watch.list(listing).incidents;
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
  fc.assert(
    fc.property(scripts, (script) => {
      const steps: ExpectedStep[] = [];
      play(script, (outcome, index) => {
        for (const line of stepsOf(outcome)) {
          if (/^(fired|muted|resolved)/.test(line)) steps.push([index, line]);
        }
      });
      expect(steps.map(String).toSorted()).toEqual(expectedSteps(script).map(String).toSorted());
    }),
    runs,
  );
});

it("an incident fires once at most, resolves once at most, and not without having fired", () => {
  fc.assert(
    fc.property(scripts, (script) => {
      const lives = new Map<string, string>();
      play(script, ({ steps }) => {
        for (const { step, incident } of steps) {
          lives.set(incident.id, `${lives.get(incident.id) ?? ""} ${step}`);
        }
      });
      for (const life of lives.values()) {
        expect(life).toMatch(/^( opened)?( dropped|( muted)?( fired)?( resolved)?)?$/);
      }
    }),
    runs,
  );
});

it("the outbox holds exactly one item for each step and each receiver that hears of it", () => {
  const typeOf = new Map([
    ["fired", "incident.firing"],
    ["resolved", "incident.resolved"],
  ]);
  fc.assert(
    fc.property(scripts, (script) => {
      const toldOf = new Map<string, readonly string[]>();
      const due: string[] = [];
      const watch = play(script, ({ steps }, index) => {
        for (const { step, incident } of steps) {
          const type = typeOf.get(step);
          if (type === undefined) continue;
          if (step === "fired") toldOf.set(incident.id, receiversAt(script, index, incident.rule));
          for (const receiver of toldOf.get(incident.id) ?? []) {
            if (receiver === "ghost" || (step === "resolved" && receiver === "quiet")) continue;
            due.push(`${receiver} ${type} ${incident.id}`);
          }
        }
      });
      expect(linesOf(watch.outbox)).toEqual(due);
    }),
    runs,
  );
});

it("what a receiver was told last of a subject is how it stands, or the silence about it", () => {
  fc.assert(
    fc.property(flappingScripts, (script) => {
      const watch = watchOf(script);
      for (const move of script.moves) {
        make(watch, move, script);
        const firing = [...watch.state.incidents.values()]
          .filter(({ phase }) => phase.name === "firing" && phase.notifiedAtMs !== null)
          .map(({ id }) => id);
        const told = watch.outbox.filter(({ receiver }) => receiver === "oncall");
        const lastOfSubject = new Map(told.map((item) => [subjectKey(item), item]));
        const last = [...lastOfSubject.values()].filter(({ type }) => type !== "incident.resolved");
        const tellsOncall = ({ rule }: OutboxItem) => rule !== "steady";
        expect(
          last
            .filter(tellsOncall)
            .map(({ incident }) => incident.id)
            .toSorted(),
        ).toEqual(
          firing.filter((id) => told.some(({ incident }) => incident.id === id)).toSorted(),
        );
      }
    }),
    runs,
  );
});

it("an incident is told to flap once, and not again before it was told to have settled", () => {
  fc.assert(
    fc.property(flappingScripts, (script) => {
      const watch = play(script, () => {});
      const told = watch.outbox.filter(
        ({ receiver, rule }) => receiver === "oncall" && rule === "edited",
      );
      for (const items of Map.groupBy(told, ({ incident }) => incident.id).values()) {
        const words = items.map(({ type, incident }) =>
          incident.flapping ? "flapping" : type.replace("incident.", ""),
        );
        expect(words.join(" ")).toMatch(
          /^(firing|flapping)( reminder| flapping reminder)*( flapping)?( resolved)?$/,
        );
      }
    }),
    runs,
  );
});

it("a listing like the last one does what it does beside a server that no rule is about", () => {
  fc.assert(
    fc.property(flappingScripts, (script) => {
      const alone = watchOf(script);
      const beside = watchOf(script);
      for (const [index, move] of script.moves.entries()) {
        const restless = listedServer("z", "occupied", { benchmark: `${index}` });
        const outcome = make(beside, move, script, [listedSandbox("box-3", [restless])]);
        expect(byIncident(make(alone, move, script))).toEqual(byIncident(outcome));
        expect(alone.state.incidents).toEqual(beside.state.incidents);
      }
    }),
    { numRuns: 400 },
  );
});

it("while a target is blind no incident of its servers changes in any way", () => {
  fc.assert(
    fc.property(scripts, (script) => {
      const watch = watchOf(script);
      const ofServers = () =>
        structuredClone([...watch.state.incidents.values()]).filter(
          ({ subject }) => subject.kind === "server",
        );
      for (const move of script.moves) {
        const before = ofServers();
        const outcome = make(watch, move, script);
        if (move.kind !== "failure") continue;
        expect(ofServers()).toEqual(before);
        expect(outcome.outbox.filter(({ incident }) => incident.subject === "server")).toEqual([]);
      }
    }),
    runs,
  );
});

it("a restart under the same rules changes nothing that is known", () => {
  fc.assert(
    fc.property(scripts, (script) => {
      const watch = watchOf(script);
      const known = () =>
        structuredClone({
          progress: watch.state.progress,
          incidents: new Map(watch.state.incidents),
          servers: new Set(
            [...eachServer(watch.state.snapshot)].map((each) => JSON.stringify(each)),
          ),
        });
      for (const move of script.moves) {
        if (move.kind !== "restart") make(watch, move, script);
        const before = known();
        const { steps, written } = watch.restart();
        expect([steps, written, known()]).toEqual([[], [], before]);
      }
    }),
    { numRuns: 60 },
  );
});

/** Of one poll: in what order different incidents are gone through is nobody's business. */
function byIncident({ written, dropped, flaps, steps, outbox }: IncidentOutcome) {
  return {
    written: written.toSorted((one, other) => one.id.localeCompare(other.id)),
    dropped: dropped.toSorted((one, other) => one.id.localeCompare(other.id)),
    steps: steps.toSorted((one, other) => one.incident.id.localeCompare(other.incident.id)),
    outbox: outbox.toSorted((one, other) => one.incident.id.localeCompare(other.incident.id)),
    flaps: flaps.toSorted((one, other) => flapKey(one).localeCompare(flapKey(other))),
  };
}

function receiversAt(script: Script, index: number, rule: string): readonly string[] {
  const { variants, steady, blind } = script;
  const lastRestart = script.moves.slice(0, index + 1).findLast(({ kind }) => kind === "restart");
  const edited = variants[lastRestart?.kind === "restart" ? lastRestart.variant : 0];
  return [edited, steady, blind].find(({ name }) => name === rule)?.receivers ?? [];
}
