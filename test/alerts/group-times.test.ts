import { describe, expect, it } from "vitest";
import { composeMessages, type MessageSettings } from "../../src/alerts/compose-messages.ts";
import type { GroupTimes } from "../../src/alerts/grouping.ts";
import type { OutboxItem, NotifiedIncident } from "../../src/alerts/notification.ts";
import { outboxItem, startMs } from "../notify/support/items.ts";

const settings: MessageSettings = {
  groupBy: ["rule", "region", "key"],
  groupWaitMs: 5_000,
  groupIntervalMs: 60_000,
  mergeAbove: 4,
  maxIncidents: 3,
};

interface When {
  readonly afterMs: number;
  readonly notifiedAtMs?: GroupTimes;
  readonly more?: Partial<MessageSettings>;
}

function compose(items: readonly OutboxItem[], { afterMs, notifiedAtMs, more }: When) {
  const stored = items.map((item, index) => ({ ...item, seq: index + 1 }));
  return composeMessages(stored, { ...settings, ...more }, startMs + afterMs, notifiedAtMs);
}

/** When each group of some messages was told, as a store remembers it. */
function timesOf({ messages }: ReturnType<typeof compose>): GroupTimes {
  return new Map(
    messages.flatMap(({ groupNames, notification }) =>
      groupNames.map((name) => [name, notification.createdAtMs] as const),
    ),
  );
}

describe("a group that was told of", () => {
  const notifiedAtMs = timesOf(compose([outboxItem()], { afterMs: 5_000 }));
  const later = outboxItem({ causedAtMs: startMs + 10_000, incident: { id: "incident-2" } });

  it("is not told of again before the interval has passed since its last message", () => {
    expect(compose([later], { afterMs: 64_999, notifiedAtMs })).toEqual({
      messages: [],
      nextDueAtMs: startMs + 65_000,
    });
    expect(compose([later], { afterMs: 65_000, notifiedAtMs }).messages).toHaveLength(1);
  });

  it("waits as any other once the interval is over", () => {
    const late = outboxItem({ causedAtMs: startMs + 100_000 });
    expect(compose([late], { afterMs: 104_999, notifiedAtMs })).toEqual({
      messages: [],
      nextDueAtMs: startMs + 105_000,
    });
  });

  it("keeps no other group waiting", () => {
    const other = outboxItem({ causedAtMs: startMs + 10_000, incident: { key: "batch" } });
    const { messages, nextDueAtMs } = compose([later, other], { afterMs: 15_000, notifiedAtMs });
    expect(messages.map(({ itemSeqs }) => itemSeqs)).toEqual([[2]]);
    expect(nextDueAtMs).toBe(startMs + 65_000);
  });

  it("does not wait for a wall clock that was stepped back to come round again", () => {
    const before = outboxItem({ causedAtMs: startMs - 3_600_000 });
    expect(compose([before], { afterMs: -3_595_000, notifiedAtMs }).messages).toHaveLength(1);
  });

  it("waits for no interval of its own where its cause is still to come by the wall clock", () => {
    const future = outboxItem({ causedAtMs: startMs + 3_600_000 });
    expect(compose([future], { afterMs: 10_000, notifiedAtMs }).messages).toHaveLength(1);
  });

  it("is the group, whatever type of message it was told by", () => {
    const resolved = outboxItem({ type: "incident.resolved", causedAtMs: startMs + 10_000 });
    expect(compose([resolved], { afterMs: 20_000, notifiedAtMs }).messages).toEqual([]);
  });
});

describe("what befalls a whole region", () => {
  /** So many servers, each of a key of its own. */
  const storm = (count: number, more: Partial<NotifiedIncident> = {}): OutboxItem[] =>
    Array.from({ length: count }, (_, n) =>
      outboxItem({ incident: { id: `${more.region}-${n}`, key: `key-${n}`, ...more } }),
    );

  it("is one message for more subjects than the limit, and one each up to it", () => {
    expect(compose(storm(4), { afterMs: 5_000 }).messages).toHaveLength(4);
    const { messages } = compose(storm(5), { afterMs: 5_000 });
    expect(messages).toMatchObject([
      {
        itemSeqs: [1, 2, 3, 4, 5],
        notification: {
          summary: "5 servers in error in us",
          incidents: [{ key: "key-0" }, { key: "key-1" }, { key: "key-2" }],
          truncated: 2,
        },
      },
    ]);
    expect(messages[0]?.notification.group).toEqual({ region: "us" });
    expect(messages[0]?.groupNames).toHaveLength(5);
  });

  it("is told for each region, rule and severity apart", () => {
    const { messages } = compose(
      [
        ...storm(5),
        ...storm(5, { region: "eu" }),
        ...storm(5).map((item) => ({ ...item, rule: "stuck" })),
        ...storm(5).map((item) => ({ ...item, rule: "slow", severity: "info" as const })),
      ],
      { afterMs: 5_000 },
    );
    const told = messages.map(({ notification: { rule, group } }) => [rule, group["region"]]);
    expect(told).toEqual([
      ["server-error", "us"],
      ["server-error", "eu"],
      ["stuck", "us"],
      ["slow", "us"],
    ]);
  });

  it("is counted by subjects: one that goes on and off is one", () => {
    const onAndOff = storm(2).flatMap((item) => [
      item,
      { ...item, type: "incident.resolved" as const },
      item,
    ]);
    expect(compose(onAndOff, { afterMs: 5_000 }).messages).toHaveLength(6);
  });

  it("is told as soon as the first of it is due, and to all of its groups at once", () => {
    const late = storm(5).map((item, n) => ({ ...item, causedAtMs: startMs + n * 1_000 }));
    expect(compose(late, { afterMs: 4_999 })).toEqual({
      messages: [],
      nextDueAtMs: startMs + 5_000,
    });
    const told = compose(late, { afterMs: 5_000 });
    expect(told.messages).toHaveLength(1);
    const again = storm(1, { id: "again" }).map((item) => ({
      ...item,
      causedAtMs: startMs + 6_000,
    }));
    const notifiedAtMs = timesOf(told);
    expect(compose(again, { afterMs: 64_999, notifiedAtMs }).nextDueAtMs).toBe(startMs + 65_000);
  });

  it("is of targets and probes as of servers, and not of pools and receivers", () => {
    for (const subject of ["target", "probe"] as const) {
      const alike = storm(5, { subject, sandboxId: null, serverId: null });
      expect(compose(alike, { afterMs: 5_000 }).messages).toHaveLength(1);
    }
    for (const subject of ["pool", "receiver"] as const) {
      const others = storm(5, { subject, sandboxId: null, serverId: null });
      expect(compose(others, { afterMs: 5_000 }).messages).toHaveLength(5);
    }
  });

  it("is not what a receiver groups across regions anyway", () => {
    const groupBy = ["rule", "key"] as const;
    const both = storm(5).flatMap((item) => [
      item,
      { ...item, incident: { ...item.incident, id: `eu-${item.incident.id}`, region: "eu" } },
    ]);
    expect(compose(both, { afterMs: 5_000, more: { groupBy } }).messages).toHaveLength(5);
  });
});

describe("the servers of a pool that is told of", () => {
  const servers = (region: string, serverName: string): readonly OutboxItem[] =>
    Array.from({ length: 3 }, (_, index) =>
      outboxItem({
        incident: {
          id: `${region}-${serverName}-${index}`,
          serverId: `${region}-${serverName}-${index}`,
          region,
          serverName,
        },
      }),
    );
  const pool = outboxItem({
    rule: "pool-failing",
    incident: {
      id: "pool",
      subject: "pool",
      region: null,
      key: null,
      sandboxId: null,
      serverId: null,
    },
  });
  const byName = { afterMs: 5_000, more: { groupBy: ["region", "server_name"] } } as const;
  const both = [...servers("us", "github"), ...servers("eu", "github")];

  it("are one message, in whatever regions they are", () => {
    const { messages } = compose([...both, pool], byName);
    expect(messages.map(({ itemSeqs }) => itemSeqs)).toEqual([[1, 2, 3, 4, 5, 6], [7]]);
    expect(messages[0]?.notification.group).toEqual({ server_name: "github" });
  });

  it("stay apart from servers of other names, and from each other without the pool", () => {
    const others = [...both, ...servers("eu", "slack").slice(1), pool];
    const apart = compose(others, byName).messages.map(({ itemSeqs }) => itemSeqs.length);
    expect(apart).toEqual([3, 5, 1]);
    const alone = compose(both, byName).messages.map(({ itemSeqs }) => itemSeqs.length);
    expect(alone).toEqual([3, 3]);
  });

  it.each([
    ["a key", { key: "research" }, [6, 1, 1, 1]],
    ["a server name", { serverName: "github" }, [6, 1, 1, 1]],
    ["a region", { region: "us" }, Array.from({ length: 9 }, () => 1)],
  ])("stay apart from servers outside it when it is limited to %s", (_, limits, sizes) => {
    const inRegion = (region: string): readonly OutboxItem[] =>
      Array.from({ length: 4 }, (_unused, n) => {
        const isOther = n === 3;
        const key = isOther ? "batch" : "research";
        const serverName = isOther ? "slack" : "github";
        return outboxItem({ incident: { id: `${region}-${n}`, region, key, serverName } });
      });
    const limited = {
      ...pool,
      incident: { ...pool.incident, serverName: null, ...limits },
    };
    const { messages } = compose([...inRegion("us"), ...inRegion("eu"), limited], {
      afterMs: 5_000,
      more: { groupBy: ["incident"] },
    });
    expect(messages.map(({ itemSeqs }) => itemSeqs.length)).toEqual(sizes);
  });

  it("stay apart by rule and severity", () => {
    const stuck = both.map((item) => ({ ...item, rule: "stuck" }));
    const slow = both.map((item) => ({ ...item, severity: "info" as const }));
    const { messages } = compose([...both, ...stuck, ...slow, pool], byName);
    expect(messages.map(({ itemSeqs }) => itemSeqs.length)).toEqual([6, 6, 6, 1]);
  });

  it("stay apart when they are no more than the limit", () => {
    const few = [...servers("us", "github").slice(1), ...servers("eu", "github").slice(1), pool];
    expect(compose(few, byName).messages).toHaveLength(3);
  });
});
