import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { composeMessages, type MessageSettings } from "../../src/alerts/compose-messages.ts";
import { subjectKey } from "../../src/alerts/grouping.ts";
import { groupFields, incidentMessages } from "../../src/alerts/notification.ts";
import type { StoredOutboxItem } from "../../src/alerts/notification.ts";
import { outboxItem, startMs } from "../notify/support/items.ts";

describe("whatever is grouped", () => {
  const drafts = fc.record({
    type: fc.constantFrom(...incidentMessages),
    rule: fc.constantFrom("server-error", "target-down"),
    severity: fc.constantFrom("critical", "warning"),
    incident: fc.record({
      id: fc.constantFrom("a", "b", "c", "d"),
      region: fc.constantFrom("us", "eu"),
    }),
    causedAtMs: fc.nat(20_000).map((ms) => startMs + ms),
  });
  const items = fc
    .array(drafts)
    .map((some) => some.toSorted((one, two) => one.causedAtMs - two.causedAtMs))
    .map((sorted) => sorted.map((draft, n) => ({ ...outboxItem(draft), seq: n + 1 })));
  const settings = fc.record({
    groupBy: fc.subarray([...groupFields]),
    groupWaitMs: fc.constantFrom(0, 5_000),
    groupIntervalMs: fc.constantFrom(0, 60_000),
    groupLimit: fc.constantFrom(1, 1_000_000),
    maxIncidents: fc.integer({ min: 1, max: 5 }),
  });
  const now = fc.nat(30_000).map((ms) => startMs + ms);
  const check = (
    holds: (all: readonly StoredOutboxItem[], grouping: MessageSettings, nowMs: number) => void,
  ): void => fc.assert(fc.property(items, settings, now, holds));

  it("every item is notified exactly once, sooner or later", () => {
    check((all, grouping, nowMs) => {
      const composed = composeMessages(all, grouping, nowMs);
      const seqs = composed.messages.flatMap(({ itemSeqs }) => itemSeqs);
      const left = all.filter(({ seq }) => !seqs.includes(seq));
      const later = composeMessages(left, grouping, nowMs + 60_000);
      seqs.push(...later.messages.flatMap(({ itemSeqs }) => itemSeqs));
      expect(seqs.toSorted((one, two) => one - two)).toEqual(all.map(({ seq }) => seq));
      expect(later.nextDueAtMs).toBeNull();
      expect(left.length === 0).toBe(composed.nextDueAtMs === null);
    });
  });

  /** Without the reminders that something later about their incident replaces. */
  const notOutdated = (all: readonly StoredOutboxItem[]): readonly StoredOutboxItem[] =>
    all.filter(
      ({ type, seq, incident }) =>
        type !== "incident.reminder" ||
        !all.some((later) => later.seq > seq && later.incident.id === incident.id),
    );

  it("no message mixes rule, severity or type, and each counts an incident once", () => {
    check((all, grouping, nowMs) => {
      const { messages } = composeMessages(all, grouping, nowMs);
      const seqs = new Set(messages.flatMap((each) => each.itemSeqs));
      const composed = notOutdated(all.filter(({ seq }) => seqs.has(seq)));
      for (const { notification, itemSeqs } of messages) {
        const { rule, severity, type, incidents, truncated } = notification;
        const own = composed.filter(({ seq }) => itemSeqs.includes(seq));
        for (const item of own) expect(item).toMatchObject({ rule, severity, type });
        const ids = new Set(own.map(({ incident }) => incident.id));
        expect(incidents.length + truncated).toBe(ids.size);
        expect(incidents.length).toBeLessThanOrEqual(grouping.maxIncidents);
      }
    });
  });

  it("the same items have the same identity, and no two messages have one", () => {
    check((all, grouping, nowMs) => {
      const identitiesOf = (some: readonly StoredOutboxItem[]) =>
        composeMessages(some, grouping, nowMs).messages.map(({ identity }) => identity);
      const identities = identitiesOf(all);
      expect(identitiesOf(structuredClone(all))).toEqual(identities);
      expect(new Set(identities).size).toBe(identities.length);
    });
  });

  it("what happened to each subject is notified in its order, across messages", () => {
    check((all, grouping, nowMs) => {
      const { messages } = composeMessages(all, grouping, nowMs);
      const positionOf = ({ seq }: StoredOutboxItem): number =>
        messages.findIndex(({ itemSeqs }) => itemSeqs.includes(seq)) + 1 || Infinity;
      for (const same of Map.groupBy(notOutdated(all), subjectKey).values()) {
        const positions = same.map(positionOf);
        expect(positions).toEqual(positions.toSorted((one, two) => one - two));
      }
    });
  });
});
