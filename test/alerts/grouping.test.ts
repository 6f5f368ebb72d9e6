import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { composeMessages, type MessageSettings } from "../../src/alerts/compose-messages.ts";
import { subjectKey } from "../../src/alerts/grouping.ts";
import {
  groupFields,
  incidentMessages,
  type OutboxItem,
  type StoredOutboxItem,
} from "../../src/alerts/notification.ts";
import { outboxItem, startMs } from "../notify/support/items.ts";

const settings: MessageSettings = {
  groupBy: ["rule", "region", "key"],
  groupWaitMs: 5_000,
  groupIntervalMs: 5_000,
  mergeAbove: 1_000_000,
  maxIncidents: 50,
};

function stored(items: readonly OutboxItem[]): StoredOutboxItem[] {
  return items.map((item, index) => ({ ...item, seq: index + 1 }));
}

function compose(items: readonly OutboxItem[], more: Partial<MessageSettings> = {}) {
  return composeMessages(stored(items), { ...settings, ...more }, startMs + 5_000);
}

const secondServer = { id: "incident-2", serverId: "server-2", serverName: "git" };

describe("waiting for a group", () => {
  it("tells nothing before the oldest item waited its time, and says when that is", () => {
    const items = stored([
      outboxItem({ causedAtMs: startMs }),
      outboxItem({ causedAtMs: startMs + 1 }),
    ]);
    const early = composeMessages(items, settings, startMs + 4_999);
    expect(early).toEqual({ messages: [], nextDueAtMs: startMs + 5_000 });
    expect(composeMessages(items, settings, startMs + 5_000).messages).toHaveLength(1);
  });

  it("tells a younger item together with the oldest of its group", () => {
    const late = outboxItem({ causedAtMs: startMs + 4_999, incident: secondServer });
    const { messages, nextDueAtMs } = compose([outboxItem(), late]);
    expect(messages.map((message) => message.itemSeqs)).toEqual([[1, 2]]);
    expect(nextDueAtMs).toBeNull();
  });

  it("lets each group wait for itself", () => {
    const late = outboxItem({
      causedAtMs: startMs + 2_000,
      incident: { region: "eu", id: "other" },
    });
    const { messages, nextDueAtMs } = compose([outboxItem(), late]);
    expect(messages.map((message) => message.itemSeqs)).toEqual([[1]]);
    expect(nextDueAtMs).toBe(startMs + 7_000);
  });

  it("does not wait for a cause in the future to come round again", () => {
    const item = outboxItem({ causedAtMs: startMs + 86_400_000 });
    expect(compose([item]).messages).toHaveLength(1);
  });
});

describe("a message", () => {
  it("tells firing, then reminders, then resolved, when all fall into one flush", () => {
    const { messages } = compose([
      outboxItem({ type: "incident.firing" }),
      outboxItem({ type: "incident.firing", incident: secondServer }),
      outboxItem({ type: "incident.reminder" }),
      outboxItem({ type: "incident.resolved", incident: secondServer }),
      outboxItem({ type: "incident.resolved" }),
    ]);
    expect(messages.map(({ notification, itemSeqs }) => [notification.type, itemSeqs])).toEqual([
      ["incident.firing", [1, 2]],
      ["incident.reminder", [3]],
      ["incident.resolved", [4, 5]],
    ]);
  });

  it("that a server fires again comes after that it was resolved: the last word is the latest", () => {
    const again = { id: "incident-9", serverId: "server-1" };
    const { messages } = compose([
      outboxItem({ type: "incident.resolved" }),
      outboxItem({ type: "incident.firing", incident: secondServer }),
      outboxItem({ type: "incident.firing", incident: again }),
    ]);
    expect(messages.map(({ notification, itemSeqs }) => [notification.type, itemSeqs])).toEqual([
      ["incident.resolved", [1]],
      ["incident.firing", [2, 3]],
    ]);
  });

  it("names the values it was grouped by, but not the rule, and nothing for what a target lacks", () => {
    const { messages } = compose(
      [outboxItem({ incident: { subject: "target", sandboxId: null, serverName: null } })],
      { groupBy: groupFields },
    );
    expect(messages[0]?.notification.group).toEqual({
      region: "us",
      key: "research",
      sandbox_id: "",
      server_name: "",
      probe: "",
      incident: "incident-1",
    });
  });

  it("counts truly what goes beyond the receiver's limit", () => {
    const items = Array.from({ length: 7 }, (_, n) => outboxItem({ incident: { id: `i${n}` } }));
    const [message] = compose(items, { maxIncidents: 3 }).messages;
    expect(message?.notification.incidents.map(({ id }) => id)).toEqual(["i0", "i1", "i2"]);
    expect(message?.notification.truncated).toBe(4);
    expect(message?.notification.summary).toBe("7 servers in error in us (research)");
    expect(message?.itemSeqs).toHaveLength(7);
  });

  it("is as old as the oldest of its items, whatever their order", () => {
    const causesMs = [3_000, 1_000, 2_000].map((ms) => startMs + ms);
    const items = causesMs.map((causedAtMs, n) =>
      outboxItem({ causedAtMs, incident: { id: `i${n}` } }),
    );
    const { messages } = composeMessages(stored(items), settings, startMs + 9_000);
    expect(messages.map(({ notification }) => notification.causedAtMs)).toEqual([startMs + 1_000]);
  });

  it("names an incident once, as it stood last, when two reminders fall into one flush", () => {
    const first = outboxItem({ type: "incident.reminder" });
    const second = outboxItem({ type: "incident.reminder", incident: { previousStatus: "idle" } });
    const [message] = compose([first, second]).messages;
    expect(message?.notification.incidents).toEqual([second.incident]);
    expect(message?.itemSeqs).toEqual([1, 2]);
  });
});

describe("the summary", () => {
  const firing = outboxItem();
  const other = outboxItem({ incident: secondServer });
  const inEurope = outboxItem({ incident: { id: "e", region: "eu" } });
  const otherKey = outboxItem({ incident: { id: "k", key: "sales" } });
  const resolved = outboxItem({ type: "incident.resolved" });
  const gone = outboxItem({
    type: "incident.resolved",
    incident: { ...secondServer, resolvedReason: "gone" },
  });
  const removed = outboxItem({
    type: "incident.resolved",
    incident: { resolvedReason: "rule_removed" },
  });
  const target = (more: Partial<OutboxItem>, region = "us"): OutboxItem =>
    outboxItem({
      condition: "down (timeout)",
      ...more,
      incident: {
        id: region,
        region,
        subject: "target",
        sandboxId: null,
        serverId: null,
        serverName: null,
        ...(more.type === "incident.resolved" ? { resolvedReason: "recovered" } : {}),
      },
    });

  it.each<[string, readonly OutboxItem[]]>([
    ["1 server in error in us (research): github", [firing]],
    [
      "1 server in error in us (research): server-1",
      [outboxItem({ incident: { serverName: null } })],
    ],
    ["1 server occupied in us (research): github", [outboxItem({ condition: "occupied" })]],
    ["2 servers in error in us (research)", [firing, other]],
    ["2 servers in error in 2 regions (research)", [firing, inEurope]],
    ["2 servers in error in us", [firing, otherKey]],
    ["3 servers in error in 2 regions", [firing, inEurope, otherKey]],
    [
      "1 server still in error in us (research): github",
      [outboxItem({ type: "incident.reminder" })],
    ],
    ["1 server no longer in error in us (research): github", [resolved]],
    ["2 servers no longer in error in us (research)", [resolved, gone]],
    ["alert ended for 1 server in error in us (research): github", [removed]],
    ["us (research) down (timeout)", [target({})]],
    ["us (research) still down (timeout)", [target({ type: "incident.reminder" })]],
    ["us (research) up again", [target({ type: "incident.resolved" })]],
    ["2 targets down (timeout) in 2 regions (research)", [target({}), target({}, "eu")]],
    [
      "2 targets down in 2 regions (research)",
      [target({}), target({ condition: "down (network)" }, "eu")],
    ],
  ])("says %j", (summary, items) => {
    const { messages } = compose(items, { groupBy: ["rule"] });
    expect(messages.map(({ notification }) => notification.summary)).toEqual([summary]);
  });

  it("stays one short line whatever a server is called", () => {
    const named = outboxItem({ incident: { serverName: `a\nb\u0007${"x".repeat(9_000)}` } });
    const summary = compose([named]).messages[0]?.notification.summary;
    expect(summary).toMatch(/: a b x+…$/);
    expect(summary?.length).toBeLessThan(120);
  });
});

describe("the laws of grouping", () => {
  const itemsArbitrary = fc
    .array(
      fc.record({
        type: fc.constantFrom(...incidentMessages),
        rule: fc.constantFrom("server-error", "target-down"),
        severity: fc.constantFrom("critical", "warning"),
        incident: fc.record({
          id: fc.constantFrom("a", "b", "c", "d"),
          region: fc.constantFrom("us", "eu"),
        }),
        afterMs: fc.nat(20_000),
      }),
    )
    .map((drafts) =>
      stored(
        drafts
          .toSorted((one, two) => one.afterMs - two.afterMs)
          .map(({ afterMs, ...draft }) => outboxItem({ ...draft, causedAtMs: startMs + afterMs })),
      ),
    );
  const settingsArbitrary = fc.record({
    groupBy: fc.subarray([...groupFields]),
    groupWaitMs: fc.constantFrom(0, 5_000),
    groupIntervalMs: fc.constantFrom(0, 60_000),
    mergeAbove: fc.constantFrom(1, 1_000_000),
    maxIncidents: fc.integer({ min: 1, max: 5 }),
  });
  const nowArbitrary = fc.nat(30_000).map((ms) => startMs + ms);

  it("tells every item exactly once, sooner or later", () => {
    fc.assert(
      fc.property(itemsArbitrary, settingsArbitrary, nowArbitrary, (items, grouping, nowMs) => {
        const now = composeMessages(items, grouping, nowMs);
        const told = now.messages.flatMap((message) => message.itemSeqs);
        const left = items.filter((item) => !told.includes(item.seq));
        const later = composeMessages(left, grouping, nowMs + 60_000);
        const all = [...told, ...later.messages.flatMap((message) => message.itemSeqs)];
        expect(all.toSorted((one, two) => one - two)).toEqual(items.map((item) => item.seq));
        expect(later.nextDueAtMs).toBeNull();
        expect(left.length === 0).toBe(now.nextDueAtMs === null);
      }),
    );
  });

  it("never mixes rule, severity or type, and counts each incident once", () => {
    fc.assert(
      fc.property(itemsArbitrary, settingsArbitrary, nowArbitrary, (items, grouping, nowMs) => {
        for (const { notification, itemSeqs } of composeMessages(items, grouping, nowMs).messages) {
          const own = items.filter((item) => itemSeqs.includes(item.seq));
          const kinds = own.map(({ rule, severity, type }) => `${rule} ${severity} ${type}`);
          const { rule, severity, type } = notification;
          expect(new Set(kinds)).toEqual(new Set([`${rule} ${severity} ${type}`]));
          const incidents = new Set(own.map((item) => item.incident.id));
          expect(notification.incidents.length + notification.truncated).toBe(incidents.size);
          expect(notification.incidents.length).toBeLessThanOrEqual(grouping.maxIncidents);
        }
      }),
    );
  });

  it("gives the same identity when composed again, and never one identity to two messages", () => {
    fc.assert(
      fc.property(itemsArbitrary, settingsArbitrary, nowArbitrary, (items, grouping, nowMs) => {
        const identities = composeMessages(items, grouping, nowMs).messages.map((m) => m.identity);
        const again = composeMessages(structuredClone(items), grouping, nowMs).messages;
        expect(again.map((message) => message.identity)).toEqual(identities);
        expect(new Set(identities).size).toBe(identities.length);
      }),
    );
  });

  it("tells what happened to each subject in its order, across messages", () => {
    fc.assert(
      fc.property(itemsArbitrary, settingsArbitrary, nowArbitrary, (items, grouping, nowMs) => {
        const { messages } = composeMessages(items, grouping, nowMs);
        const position = new Map(
          messages.flatMap(({ itemSeqs }, index) => itemSeqs.map((seq) => [seq, index] as const)),
        );
        for (const told of Map.groupBy(items, subjectKey).values()) {
          const positions = told.map(({ seq }) => position.get(seq) ?? Number.POSITIVE_INFINITY);
          expect(positions).toEqual(positions.toSorted((one, two) => one - two));
        }
      }),
    );
  });
});
