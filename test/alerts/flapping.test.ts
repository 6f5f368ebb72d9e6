import { describe, expect, it } from "vitest";
import type { Status } from "../../src/fleet/model.ts";
import { lasting, listedServer, serverRule } from "./support/samples.ts";
import { linesOf, stepsOf } from "./support/steps.ts";
import { createWatch, intervalMs } from "./support/watch.ts";
import type { Watch, WatchOptions } from "./support/watch.ts";

const minute = 2 * intervalMs;

/** Two entries within ten minutes are told one by one, the third one as flapping. */
const rule = serverRule({ flap: { changes: 2, withinMs: 10 * minute } });

const statusOf: Readonly<Record<string, Status>> = { e: "error", i: "idle" };

/**
 * Polls of one server, one letter each, and the steps that they led to: `e` in error, `i` idle, `-`
 * not in a partial listing, `!` a failed poll, `R` a restart.
 */
function play(watch: Watch, letters: string): readonly string[] {
  return letters.split("").flatMap((letter) => {
    const status = statusOf[letter];
    if (status) return stepsOf(watch.see(listedServer("a", status)).incidents);
    if (letter === "R") return stepsOf(watch.restart());
    return stepsOf((letter === "!" ? watch.fail() : watch.seePart()).incidents);
  });
}

/** One that was told to flap with its last poll. */
function flappingWatch(options: WatchOptions = {}): Watch {
  const watch = createWatch({ rules: [rule], ...options });
  play(watch, "eieie");
  return watch;
}

const fired = "fired server-error a";
const recovered = "resolved server-error a (recovered)";
const settled = "settled server-error a";

describe("a server that flaps", () => {
  it("is told one by one up to the limit, once as flapping, and then not until it settled", () => {
    const watch = createWatch({ rules: [rule] });
    expect(play(watch, "eiei")).toEqual([fired, recovered, fired, recovered]);
    expect(play(watch, "e")).toEqual([fired]);
    expect(play(watch, "ieieieieie")).toEqual([]);
    // The last entry is twenty polls old with the last of these.
    expect(play(watch, "i".repeat(19))).toEqual([]);
    expect(play(watch, "i")).toEqual([recovered]);
    expect(linesOf(watch.outbox)).toEqual([
      "oncall incident.firing incident-1",
      "oncall incident.resolved incident-1",
      "oncall incident.firing incident-2",
      "oncall incident.resolved incident-2",
      "oncall incident.firing incident-3",
      "oncall incident.resolved incident-3",
    ]);
    expect(watch.state.incidents.size).toBe(0);
  });

  it("says so in the message: how often, and within what time", () => {
    const { outbox } = flappingWatch();
    expect(outbox.map(({ condition, incident }) => [condition, incident.flapping])).toEqual([
      ["in error", false],
      ["in error", false],
      ["in error", false],
      ["in error", false],
      ["flapping (in error 3 times in 10m)", true],
    ]);
  });

  it("and then holds for good is told once to have settled", () => {
    const watch = flappingWatch();
    expect(play(watch, "e".repeat(19))).toEqual([]);
    expect(play(watch, "e")).toEqual([settled]);
    expect(watch.outbox.at(-1)).toMatchObject({
      type: "incident.reminder",
      condition: "in error",
      incident: { id: "incident-3", flapping: false },
    });
    expect(play(watch, "eee")).toEqual([]);
    expect(play(watch, "i")).toEqual([recovered]);
  });

  it("is one whose entries lie close together: those that are far apart are told one by one", () => {
    const watch = createWatch({ rules: [rule] });
    const slow = `e${"i".repeat(9)}`;
    expect(play(watch, slow.repeat(5))).toEqual(
      Array.from({ length: 5 }, () => [fired, recovered]).flat(),
    );
  });

  it("within less than `for` is told all the same", () => {
    const watch = createWatch({ rules: [{ ...rule, for: lasting(minute) }] });
    expect(play(watch, "eiei")).toEqual([
      "opened server-error a",
      "dropped server-error a",
      "opened server-error a",
      "dropped server-error a",
    ]);
    expect(play(watch, "e")).toEqual([fired]);
    expect(play(watch, `ieie${"i".repeat(19)}`)).toEqual([]);
    expect(play(watch, "i")).toEqual([recovered]);
  });

  it("within `keep_firing_for` is one incident, told once to flap", () => {
    const watch = createWatch({ rules: [{ ...rule, keepFiringForMs: minute }] });
    expect(play(watch, "eiei")).toEqual([fired]);
    expect(play(watch, "e")).toEqual(["flapping server-error a"]);
    expect(play(watch, `ieie${"i".repeat(19)}`)).toEqual([]);
    expect(play(watch, "i")).toEqual([recovered]);
    expect(linesOf(watch.outbox)).toEqual([
      "oncall incident.firing incident-1",
      "oncall incident.reminder incident-1",
      "oncall incident.resolved incident-1",
    ]);
  });

  it("is not reminded of before it settled", () => {
    const watch = flappingWatch({ rules: [{ ...rule, remindEveryMs: minute }] });
    expect(play(watch, "e".repeat(19))).toEqual([]);
    expect(play(watch, "e")).toEqual([settled]);
    expect(play(watch, "ee")).toEqual(["reminded server-error a"]);
  });

  it("is counted apart from others, and by each rule for itself", () => {
    const watch = createWatch({ rules: [rule, serverRule({ name: "every-time" })] });
    play(watch, "eieie");
    expect(play(watch, "ie")).toEqual(["resolved every-time a (recovered)", "fired every-time a"]);
    const { incidents } = watch.see(listedServer("a", "error"), listedServer("b", "error"));
    expect(incidents.outbox.map(({ condition }) => condition)).toEqual(["in error", "in error"]);
  });
});

describe("what is known of flapping", () => {
  it("outlives restarts, between entries and while it flaps", () => {
    const watch = createWatch({ rules: [rule] });
    play(watch, "eRiReRiR");
    expect(play(watch, "eRiRe")).toEqual([fired]);
    expect(watch.outbox.at(-1)?.incident.flapping).toBe(true);
    expect(play(watch, "RiR")).toEqual([]);
    expect(play(watch, "i".repeat(18))).toEqual([]);
    expect(play(watch, "iiii")).toEqual([recovered]);
  });

  it("does not grow old while the target is blind", () => {
    const watch = flappingWatch();
    play(watch, "i");
    expect(play(watch, "!".repeat(50))).toEqual([]);
    expect(play(watch, `e${"i".repeat(18)}`)).toEqual([]);
    expect(watch.state.incidents.size).toBe(1);
  });

  it("does not grow old while partial listings lack the server: nobody saw it settle", () => {
    const watch = flappingWatch();
    expect(play(watch, "-".repeat(50))).toEqual([]);
    expect(play(watch, "e".repeat(19))).toEqual([]);
    expect(play(watch, "e")).toEqual([settled]);
  });

  it("ends with the server: it is told to be gone, and starts anew if it comes back", () => {
    const watch = flappingWatch({ goneAfter: 1 });
    expect(stepsOf(watch.see().incidents)).toEqual(["resolved server-error a (gone)"]);
    expect(watch.state.flaps.size).toBe(0);
    expect(play(watch, "eie")).toEqual([fired, recovered, fired]);
    expect(watch.outbox.at(-1)?.incident.flapping).toBe(false);
  });

  it("ends with the rule's limit: what flapped is told to have settled or recovered", () => {
    const limitless = { rules: [{ ...rule, flap: null }] };
    const holding = flappingWatch();
    expect(stepsOf(holding.restart(limitless))).toEqual([]);
    expect(play(holding, "e")).toEqual([settled]);
    expect(holding.state.flaps.size).toBe(0);
    const clear = flappingWatch();
    play(clear, "i");
    clear.restart(limitless);
    expect(play(clear, "i")).toEqual([recovered]);
  });

  it("ends with the rule", () => {
    const watch = flappingWatch();
    const retired = watch.restart({ rules: [] });
    expect(stepsOf(retired)).toEqual(["resolved server-error a (rule_removed)"]);
    expect(retired.flaps).toMatchObject([{ enteredMs: [] }]);
    expect(watch.state.flaps.size).toBe(0);
  });

  it("is forgotten when it is past, and never grows beyond what decides", () => {
    const watch = createWatch({ rules: [rule] });
    play(watch, "eieieieieieie");
    expect([...watch.state.flaps.values()].map(({ enteredMs }) => enteredMs.length)).toEqual([3]);
    play(watch, "i".repeat(20));
    expect(watch.state.flaps.size).toBe(0);
    play(watch, "e");
    play(watch, "i".repeat(20));
    expect(watch.state.flaps.size).toBe(0);
  });

  it("is written only when a server enters the condition, or is forgotten", () => {
    const watch = createWatch({ rules: [rule] });
    const written = "eeiie".split("").map((letter) => {
      const status = letter === "e" ? "error" : "idle";
      return watch.see(listedServer("a", status), listedServer("b", "idle")).incidents.flaps.length;
    });
    expect(written).toEqual([1, 0, 0, 0, 1]);
  });
});

describe("a server that flaps inside a silence", () => {
  it("is told when the silence ends, as flapping, once it holds", () => {
    const watch = createWatch({ rules: [rule] });
    watch.silence(() => true);
    play(watch, "eieieiei");
    expect(watch.outbox).toEqual([]);
    watch.silence(null);
    expect(play(watch, "i")).toEqual([]);
    expect(play(watch, "e")).toEqual([fired]);
    expect(watch.outbox).toMatchObject([{ incident: { flapping: true } }]);
  });

  it("and was told before is resolved for those told, and not told before the silence ends", () => {
    const watch = flappingWatch();
    watch.silence(() => true);
    expect(play(watch, "i")).toEqual([]);
    expect(play(watch, "e")).toEqual([
      "resolved server-error a (silenced)",
      "muted server-error a",
    ]);
    const before = watch.outbox.length;
    play(watch, "ieie");
    expect(watch.outbox.length).toBe(before);
    watch.silence(null);
    expect(play(watch, "e")).toEqual([fired]);
  });

  it("and settles inside it is not told at all", () => {
    const watch = createWatch({ rules: [rule] });
    watch.silence(() => true);
    play(watch, `eieieie${"i".repeat(30)}`);
    expect([watch.outbox, watch.state.incidents.size, watch.state.flaps.size]).toEqual([[], 0, 0]);
  });
});

it("an acknowledged server that flaps is told of only when it is over", () => {
  const watch = createWatch({ rules: [{ ...rule, keepFiringForMs: minute }] });
  play(watch, "ei");
  watch.acknowledge("incident-1", "ada");
  expect(play(watch, `eie${"e".repeat(30)}`)).toEqual([]);
  expect(play(watch, "iii")).toEqual([recovered]);
});
