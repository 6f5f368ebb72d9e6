import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { judgeReceiver } from "../../src/alerts/judge-receivers.ts";
import type { AlertOptions } from "../../src/alerts/incident-engine.ts";
import type { ConfiguredReceiver, ConfiguredReceivers } from "../../src/alerts/recipients.ts";
import type { ReceiverEvent, ReceiverState } from "../../src/alerts/judge-receivers.ts";
import { noSuppressions } from "../../src/alerts/silence.ts";
import { startMs, wantAll } from "../support/fleet.ts";

const minute = 60_000;
const lost: ReceiverEvent = { kind: "dead_lettered", reason: "rejected" };
const took: ReceiverEvent = { kind: "took" };
const timePassed: ReceiverEvent = { kind: "time_passed" };

/** Receivers whose states go on as the store would keep them. */
function watchReceivers(receivers: readonly string[], more: Partial<AlertOptions> = {}) {
  let ids = 0;
  const options: AlertOptions = {
    receivers: wantAll(receivers),
    suppressions: noSuppressions,
    newIncidentId: () => `incident-${(ids += 1)}`,
    ...more,
  };
  const states = new Map<string, ReceiverState>();
  const stateOf = (receiver: string): ReceiverState =>
    states.get(receiver) ?? { receiver, incident: null, lastStartedAtMs: null };
  return {
    stateOf,
    phaseOf: (receiver: string) => stateOf(receiver).incident?.phase.name ?? "none",
    /** Gives who is notified, as "firing to b". */
    see: (
      receiver: string,
      event: ReceiverEvent,
      afterMs = 0,
      changed: Partial<AlertOptions> = {},
    ): readonly string[] => {
      const before = stateOf(receiver);
      const outcome = judgeReceiver(before, event, startMs + afterMs, { ...options, ...changed });
      let { incident, lastStartedAtMs } = before;
      for (const written of outcome.written) {
        const isOver = written.phase.name === "resolved";
        incident = isOver ? null : written;
        if (isOver) lastStartedAtMs = written.startedAtMs;
      }
      if (outcome.dropped.length > 0) incident = null;
      states.set(receiver, { receiver, incident, lastStartedAtMs });
      return outcome.outbox.map((item) => `${item.type.slice(9)} to ${item.receiver}`);
    },
  };
}

describe("that a receiver loses a notification", () => {
  it("is notified at their steps to those of the escalation of all rules, while nobody acknowledges it", () => {
    const wants = { sendResolved: true, sendAcknowledged: true };
    const escalated = new Map<string, ConfiguredReceiver>([
      ["a", wants],
      ["b", wants],
      ["boss", { ...wants, escalatedAfterMs: 60 * minute }],
      ["lead", { ...wants, escalatedAfterMs: 15 * minute }],
    ]);
    const { see } = watchReceivers([], { receivers: escalated });
    expect(see("b", lost)).toEqual(["firing to a"]);
    expect(see("b", timePassed, 14 * minute)).toEqual([]);
    expect(see("b", timePassed, 15 * minute)).toEqual(["firing to lead"]);
    expect(see("b", timePassed, 59 * minute)).toEqual([]);
    expect(see("b", took, 61 * minute)).toEqual(["resolved to a", "resolved to lead"]);
    // One of the escalation that fails is reported to the others.
    expect(see("lead", lost, 70 * minute)).toEqual(["firing to a", "firing to b"]);
    expect(see("lead", timePassed, 130 * minute)).toEqual(["firing to boss"]);
  });

  it("is notified to all the others", () => {
    const { see, stateOf } = watchReceivers(["a", "b", "c"]);
    expect(see("b", lost)).toEqual(["firing to a", "firing to c"]);
    expect(stateOf("b").incident).toMatchObject({
      rule: "receiver-failing",
      severity: "warning",
      subject: { kind: "receiver", receiver: "b" },
      receivers: ["a", "c"],
    });
  });

  /** Events by the second, with what the other receiver is notified of. */
  it.each<[what: string, story: string, phase: string]>([
    [
      "once",
      "0 dead firing, 1 dead, 60 time, 120 took resolved, 120 took, 600 dead firing",
      "firing",
    ],
    [
      "not again within five minutes, unless it lasts longer",
      "0 dead firing, 1 took resolved, 2 dead, 299.999 time, 300 time firing",
      "firing",
    ],
    [
      "not again if it takes one before that",
      "0 dead firing, 1 took resolved, 2 dead, 3 took",
      "none",
    ],
    [
      "at once after the wall clock was stepped back",
      "0 dead firing, 1 took resolved, -3600 dead firing",
      "firing",
    ],
  ])("is notified %s", (_, story, phase) => {
    const events = new Map([lost, took, timePassed].map((each) => [each.kind.split("_")[0], each]));
    const { see, phaseOf } = watchReceivers(["a", "b"]);
    for (const [, seconds, event, notified] of story.matchAll(/(\S+) (dead|took|time) ?(\w*)/g)) {
      const seen = see("b", events.get(event) ?? took, Number(seconds) * 1_000);
      expect(seen).toEqual(notified ? [`${notified} to a`] : []);
    }
    expect(phaseOf("b")).toBe(phase);
  });

  it("is notified to those that want it", () => {
    const wanted = wantAll(["a", "b", "c"]);
    const receivers: ConfiguredReceivers = new Map([
      ...wanted,
      ["b", { sendResolved: false, sendAcknowledged: true }],
    ]);
    const { see } = watchReceivers([], { receivers });
    expect(see("c", lost)).toEqual(["firing to a", "firing to b"]);
    expect(see("c", took)).toEqual(["resolved to a"]);
  });

  it("is notified when a silence ends, to a receiver that is new, and when it is not configured", () => {
    const silence = {
      ...noSuppressions,
      silenced: [{ match: { rule: ["receiver-failing"] }, by: "ann", endsAtMs: Infinity }],
    };
    const { see, phaseOf } = watchReceivers(["a", "b"]);
    expect(see("b", lost, 0, { suppressions: silence })).toEqual([]);
    expect(see("b", timePassed, minute)).toEqual(["firing to a"]);
    const receivers = wantAll(["a", "b", "c"]);
    expect(see("b", timePassed, 2 * minute, { receivers })).toEqual(["firing to c"]);
    expect(see("b", timePassed, 3 * minute, { receivers: wantAll(["a"]) })).toEqual([
      "resolved to a",
      "resolved to c",
    ]);
    expect(phaseOf("b")).toBe("none");
  });
});

it("receivers that fail now and then do not report each other for ever", () => {
  const names = ["a", "b", "c", "d", "e"];
  fc.assert(
    fc.property(fc.infiniteStream(fc.boolean()), (takes) => {
      const { see } = watchReceivers(names);
      const queue = [...names];
      let sent = 0;
      for (let receiver = queue.shift(); receiver !== undefined; receiver = queue.shift()) {
        sent += 1;
        if (sent > 1_000) throw new Error("it does not end");
        const notified = see(receiver, takes.next().value ? took : lost);
        queue.push(...notified.map((line) => line.split(" ").at(-1) ?? ""));
      }
      // Each of them fires once and resolves once, and both are notified to each of the others.
      expect(sent).toBeLessThanOrEqual(names.length + 2 * names.length * (names.length - 1));
    }),
  );
});
