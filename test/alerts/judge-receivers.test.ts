import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { noInterventions } from "../../src/alerts/silence.ts";
import type { Interventions } from "../../src/alerts/silence.ts";
import type { Incident } from "../../src/alerts/incident.ts";
import { judgeReceiver } from "../../src/alerts/judge-receivers.ts";
import type {
  ReceiverEvent,
  ReceiverJudgeOptions,
  ReceiverState,
} from "../../src/alerts/judge-receivers.ts";

const startMs = Date.UTC(2026, 10, 20, 9, 30);
const minuteMs = 60_000;
const lost: ReceiverEvent = { kind: "lost", reason: "rejected" };
const took: ReceiverEvent = { kind: "took" };
const timePassed: ReceiverEvent = { kind: "time_passed" };

/** Receivers whose states go on as the store would keep them. */
function watchReceivers(receivers: readonly string[], more: Partial<ReceiverJudgeOptions> = {}) {
  let ids = 0;
  const options: ReceiverJudgeOptions = {
    receivers,
    notifies: () => true,
    interventions: noInterventions,
    newIncidentId: () => `incident-${(ids += 1)}`,
    ...more,
  };
  const states = new Map<string, ReceiverState>();
  const stateOf = (receiver: string): ReceiverState =>
    states.get(receiver) ?? { receiver, incident: null, lastStartedAtMs: null };
  /** Gives what is told, as "firing to b". */
  const see = (
    receiver: string,
    event: ReceiverEvent,
    atMs = startMs,
    changed: Partial<ReceiverJudgeOptions> = {},
  ): readonly string[] => {
    const before = stateOf(receiver);
    const outcome = judgeReceiver(before, event, atMs, { ...options, ...changed });
    let { incident, lastStartedAtMs } = before;
    for (const written of outcome.written) {
      const isOver = written.phase.name === "resolved";
      incident = isOver ? null : written;
      if (isOver) lastStartedAtMs = written.startedAtMs;
    }
    if (outcome.dropped.length > 0) incident = null;
    states.set(receiver, { receiver, incident, lastStartedAtMs });
    return outcome.outbox.map(
      (item) => `${item.type.replace("incident.", "")} to ${item.receiver}`,
    );
  };
  return { stateOf, see };
}

function phaseOf(incident: Incident | null): string {
  return incident?.phase.name ?? "none";
}

describe("a receiver that loses a notification", () => {
  it("is told of to all the others, and not to itself", () => {
    const { see, stateOf } = watchReceivers(["a", "b", "c"]);
    expect(see("b", lost)).toEqual(["firing to a", "firing to c"]);
    expect(stateOf("b").incident).toMatchObject({
      rule: "receiver-failing",
      severity: "warning",
      subject: { kind: "receiver", receiver: "b" },
      receivers: ["a", "c"],
    });
  });

  it("is told of once, however much more it loses, until it takes one", () => {
    const { see } = watchReceivers(["a", "b"]);
    see("b", lost);
    expect(see("b", lost, startMs + 1)).toEqual([]);
    expect(see("b", timePassed, startMs + minuteMs)).toEqual([]);
    expect(see("b", took, startMs + 2 * minuteMs)).toEqual(["resolved to a"]);
    expect(see("b", took, startMs + 2 * minuteMs)).toEqual([]);
    expect(see("b", lost, startMs + 10 * minuteMs)).toEqual(["firing to a"]);
  });

  it("has an incident that nobody is told of where it is the only one", () => {
    const { see, stateOf } = watchReceivers(["a"]);
    expect(see("a", lost)).toEqual([]);
    expect(phaseOf(stateOf("a").incident)).toBe("firing");
    expect(see("a", took)).toEqual([]);
    expect(phaseOf(stateOf("a").incident)).toBe("none");
  });

  it("is told of to those alone that want to hear of it", () => {
    const notifies: ReceiverJudgeOptions["notifies"] = (receiver, type) =>
      receiver === "a" || type === "incident.firing";
    const { see } = watchReceivers(["a", "b", "c"], { notifies });
    expect(see("c", lost)).toEqual(["firing to a", "firing to b"]);
    expect(see("c", took)).toEqual(["resolved to a"]);
  });

  it("waits when it was told of within five minutes, and is told if it lasts", () => {
    const { see, stateOf } = watchReceivers(["a", "b"]);
    see("b", lost);
    see("b", took, startMs + 1_000);
    expect(see("b", lost, startMs + 2_000)).toEqual([]);
    expect(phaseOf(stateOf("b").incident)).toBe("pending");
    expect(see("b", timePassed, startMs + 5 * minuteMs - 1)).toEqual([]);
    expect(see("b", timePassed, startMs + 5 * minuteMs)).toEqual(["firing to a"]);
  });

  it("is not told of when it takes one before that wait is over", () => {
    const { see, stateOf } = watchReceivers(["a", "b"]);
    see("b", lost);
    see("b", took, startMs + 1_000);
    see("b", lost, startMs + 2_000);
    expect(see("b", took, startMs + 3_000)).toEqual([]);
    expect(phaseOf(stateOf("b").incident)).toBe("none");
  });

  it("is told of at once after the wall clock was stepped back", () => {
    const { see } = watchReceivers(["a", "b"]);
    see("b", lost);
    see("b", took, startMs + 1_000);
    expect(see("b", lost, startMs - 60 * minuteMs)).toEqual(["firing to a"]);
  });

  it("is not told of while it is silenced, and is when that ends", () => {
    let silenced = true;
    const interventions: Interventions = {
      ...noInterventions,
      silencedAt: () => (silenced ? ({ rule }) => rule === "receiver-failing" : null),
    };
    const { see } = watchReceivers(["a", "b"], { interventions });
    expect(see("b", lost)).toEqual([]);
    expect(see("b", timePassed, startMs + minuteMs)).toEqual([]);
    silenced = false;
    expect(see("b", timePassed, startMs + 2 * minuteMs)).toEqual(["firing to a"]);
  });

  it("is told of to a receiver that comes later", () => {
    const { see } = watchReceivers(["a", "b"]);
    see("b", lost);
    const receivers = ["a", "b", "c"];
    expect(see("b", timePassed, startMs + minuteMs, { receivers })).toEqual(["firing to c"]);
  });

  it("has its incident ended when it is no longer configured", () => {
    const { see, stateOf } = watchReceivers(["a", "b"]);
    see("b", lost);
    expect(see("b", timePassed, startMs, { receivers: ["a"] })).toEqual(["resolved to a"]);
    expect(phaseOf(stateOf("b").incident)).toBe("none");
  });
});

it("receivers that refuse now and then do not go on telling of one another for ever", () => {
  const names = ["a", "b", "c", "d", "e"];
  fc.assert(
    fc.property(fc.infiniteStream(fc.boolean()), (takes) => {
      const { see } = watchReceivers(names);
      const queue = [...names];
      let sent = 0;
      for (let receiver = queue.shift(); receiver !== undefined; receiver = queue.shift()) {
        sent += 1;
        if (sent > 1_000) throw new Error("it does not end");
        const told = see(receiver, takes.next().value ? took : lost);
        queue.push(...told.map((line) => line.split(" ").at(-1) ?? ""));
      }
      // Each of them once fires and once ends, both told to each of the others.
      expect(sent).toBeLessThanOrEqual(names.length + 2 * names.length * (names.length - 1));
    }),
  );
});
