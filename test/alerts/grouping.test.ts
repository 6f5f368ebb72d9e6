import { describe, expect, it } from "vitest";
import { composeMessages, type MessageSettings } from "../../src/alerts/compose-messages.ts";
import type { GroupTimes } from "../../src/alerts/grouping.ts";
import { groupFields, type OutboxItem } from "../../src/alerts/notification.ts";
import type { NotifiedIncident } from "../../src/alerts/notification.ts";
import { outboxItem, startMs } from "../notify/support/items.ts";

const resolved = "incident.resolved";
const second = { id: "incident-2", serverId: "server-2", serverName: "git" };
const at = (ms: number, incident: Partial<NotifiedIncident> = {}): OutboxItem =>
  outboxItem({ causedAtMs: startMs + ms, incident });

/** Messages of items at a moment, and what follows from them. */
function compose(
  items: readonly OutboxItem[],
  more: Partial<MessageSettings> = {},
  afterMs = 5_000,
  notifiedAtMs?: GroupTimes,
) {
  const settings: MessageSettings = {
    groupBy: ["rule", "region", "key"],
    groupWaitMs: 5_000,
    groupIntervalMs: 60_000,
    groupLimit: 1_000_000,
    maxIncidents: 50,
    ...more,
  };
  const stored = items.map((item, index) => ({ ...item, seq: index + 1 }));
  const nowMs = startMs + afterMs;
  const composed = composeMessages(stored, settings, nowMs, notifiedAtMs);
  const names = composed.messages.flatMap(({ groupNames }) => groupNames);
  return {
    messages: composed.messages.map(({ notification }) => notification),
    seqs: composed.messages.map(({ itemSeqs }) => itemSeqs),
    sizes: composed.messages.map(({ itemSeqs }) => itemSeqs.length),
    /** When each group was notified, as a store remembers it. */
    times: new Map(names.map((name) => [name, nowMs])),
    nextMs: composed.nextDueAtMs && composed.nextDueAtMs - startMs,
  };
}

describe("a group", () => {
  type Timing = [
    what: string,
    items: OutboxItem[],
    ms: number,
    seqs: number[][],
    next: number | null,
  ];
  const batch = { key: "batch" };

  it.each<Timing>([
    ["waits for its oldest item", [at(0), at(1)], 4_999, [], 5_000],
    ["is due when that waited its time", [at(0), at(4_999, second)], 5_000, [[1, 2]], null],
    ["waits for itself", [at(0), at(2_000, batch)], 5_000, [[1]], 7_000],
    ["does not wait for a cause in the future", [at(86_400_000)], 5_000, [[1]], null],
  ])("%s", (_, items, ms, seqs, nextMs) => {
    expect(compose(items, {}, ms)).toMatchObject({ seqs, nextMs });
  });

  it.each<Timing>([
    ["waits for its interval", [at(10_000, second)], 64_999, [], 65_000],
    ["is due after its interval", [at(10_000, second)], 65_000, [[1]], null],
    ["waits as any other after its interval", [at(100_000)], 104_999, [], 105_000],
    ["is the same for a resolve", [{ ...at(10_000), type: resolved }], 20_000, [], 65_000],
    ["does not wait for a clock that was set back", [at(-3_600_000)], -3_595_000, [[1]], null],
    ["does not wait for its interval by such a clock", [at(3_600_000)], 10_000, [[1]], null],
    ["delays no other", [at(10_000, second), at(10_000, batch)], 15_000, [[2]], 65_000],
  ])("that was notified %s", (_, items, ms, seqs, nextMs) => {
    const { times } = compose([outboxItem()]);
    expect(compose(items, {}, ms, times)).toMatchObject({ seqs, nextMs });
  });
});

describe("a message", () => {
  it("is one for each type: firing, reminder, resolved", () => {
    const { messages, seqs } = compose([
      outboxItem(),
      outboxItem({ incident: second }),
      outboxItem({ type: "incident.reminder", incident: { id: "third", serverId: "third" } }),
      outboxItem({ type: resolved, incident: second }),
      outboxItem({ type: resolved }),
    ]);
    const types = messages.map(({ type }) => type.slice(9));
    expect([types, seqs]).toEqual([
      ["firing", "reminder", "resolved"],
      [[1, 2], [3], [4, 5]],
    ]);
  });

  it("of what is last takes the reminders with it that waited until then", () => {
    const { messages, seqs } = compose([
      outboxItem({ type: "incident.reminder" }),
      outboxItem({ type: "incident.reminder", incident: second }),
      outboxItem({ type: "incident.reminder" }),
      outboxItem({ type: resolved, incident: second }),
    ]);
    const types = messages.map(({ type }) => type.slice(9));
    expect([types, seqs]).toEqual([
      ["reminder", "resolved"],
      [
        [3, 1],
        [4, 2],
      ],
    ]);
  });

  it("has the values that it was grouped by, without the rule, and nothing for what a target lacks", () => {
    const incident = { subject: "target", sandboxId: null, serverName: null } as const;
    const { messages } = compose([outboxItem({ incident })], { groupBy: groupFields });
    const none = { sandbox_id: "", server_name: "", probe: "" };
    const group = { region: "us", incident: "incident-1", ...none };
    expect(messages[0]?.group).toEqual(group);
  });

  it("counts what is beyond the receiver's limit, and is as old as its oldest item", () => {
    const items = [3_000, 1_000, 2_000].map((ms, n) => at(ms, { id: `i${n}` }));
    expect(compose(items, { maxIncidents: 2 }, 9_000)).toMatchObject({
      messages: [
        {
          incidents: [{ id: "i0" }, { id: "i1" }],
          truncated: 1,
          summary: "3 github servers in error in us/research since 09:30 UTC",
          causedAtMs: startMs + 1_000,
        },
      ],
      seqs: [[1, 2, 3]],
    });
  });

  it("names an incident once, in its latest state, and has the runbook's address, filled", () => {
    const runbookUrlTemplate = "https://wiki/{rule}?s={server_name}";
    const again = outboxItem({ incident: { previousStatus: "idle" } });
    const { messages } = compose([outboxItem({ runbookUrlTemplate }), again]);
    const runbookUrl = "https://wiki/server-error?s=github";
    expect(messages).toMatchObject([{ incidents: [again.incident], runbookUrl }]);
  });
});

describe("the notifications of one subject", () => {
  const warning = { severity: "warning", type: resolved } as const;

  it("are in order though a changed severity parts their groups", () => {
    const older = outboxItem({ ...warning, incident: { id: "older" } });
    const { seqs } = compose([older, at(3_000), { ...at(4_000), ...warning }]);
    expect(seqs).toEqual([[1], [2], [3]]);
  });

  it("are in order though a group that is due shares it with others only through a third", () => {
    const items = [
      outboxItem(),
      outboxItem({ ...at(1_000, second), severity: "info" }),
      { ...at(1_000), ...warning },
      { ...at(2_000, second), ...warning },
    ];
    expect(compose(items)).toMatchObject({ seqs: [[1], [2], [3, 4]], nextMs: null });
  });

  it("do not take along what another rule says of it", () => {
    const items = [outboxItem(), { ...at(3_000), rule: "stuck" }];
    expect(compose(items)).toMatchObject({ seqs: [[1]], nextMs: 8_000 });
  });

  const pool = { subject: "pool", sandboxId: null, serverId: null } as const;
  it.each<[difference: Partial<NotifiedIncident>, isSame: boolean, of?: Partial<NotifiedIncident>]>(
    [
      [{ status: "occupied", serverName: "renamed" }, true],
      [{ subject: "target" }, false],
      [{ region: "eu" }, false],
      [{ key: "batch" }, false],
      [{ sandboxId: "another" }, false],
      [{ serverId: "another" }, false],
      [{ probe: "universes" }, false, { subject: "probe" }],
      [{ receiver: "pager" }, false, { subject: "receiver" }],
      [{ serverName: "slack" }, false, pool],
      [{ status: null }, true, pool],
    ],
  )("are in order; one with %j is of the same subject: %s", (difference, isSame, of = {}) => {
    const incident = { serverId: "server", ...of };
    const next = { ...incident, ...difference, id: "incident-2" };
    const items = [outboxItem({ incident }), outboxItem({ incident, type: resolved })];
    const { seqs } = compose([...items, outboxItem({ incident: next })], { groupBy: ["rule"] });
    expect(seqs).toEqual(isSame ? [[1], [2], [3]] : [[1, 3], [2]]);
  });
});

const merging = { groupLimit: 4, maxIncidents: 3 };
const asRule = (items: OutboxItem[], rule: string) => items.map((item) => ({ ...item, rule }));
const asInfo = (items: OutboxItem[]) =>
  items.map((item) => ({ ...item, severity: "info" as const }));

describe("many incidents of a region", () => {
  const ofServers = (
    count: number,
    by: "key" | "sandboxId",
    more: Partial<NotifiedIncident> = {},
    everyMs = 0,
  ): OutboxItem[] =>
    Array.from({ length: count }, (_, n) =>
      at(n * everyMs, { id: `${more.region}-${more.key}-${n}`, [by]: `${by}-${n}`, ...more }),
    );
  /** Servers, each of a key of its own. */
  const storm = (count: number, more?: Partial<NotifiedIncident>, everyMs?: number) =>
    ofServers(count, "key", more, everyMs);

  it.each([
    ["keys", "key", ["region", "key"], { region: "us" }],
    ["sandboxes", "sandboxId", ["key", "sandbox_id"], { key: "research" }],
  ] as const)("are one message above the limit, of all %s", (_, by, groupBy, group) => {
    const bySandbox = { ...merging, groupBy };
    expect(compose(ofServers(4, by), bySandbox).messages).toHaveLength(4);
    const { messages, times } = compose(ofServers(5, by), bySandbox);
    expect(messages).toMatchObject([{ truncated: 2 }]);
    expect([messages[0]?.group, times.size]).toEqual([group, 5]);
  });

  it("are one message of each key while there are few keys", () => {
    const few = [...ofServers(9, "sandboxId"), ...ofServers(9, "sandboxId", { key: "batch" })];
    expect(compose(few, { ...merging, groupBy: ["incident"] }).sizes).toEqual([9, 9]);
  });

  it("are one message for each region, rule and severity", () => {
    const elsewhere = storm(5, { region: "eu" });
    const items = [...storm(5), ...elsewhere, ...asRule(storm(5), "stuck"), ...asInfo(storm(5))];
    expect(compose(items, merging).sizes).toEqual([5, 5, 5, 5]);
  });

  it("are due when the first of them is", () => {
    const late = storm(5, {}, 1_000);
    expect(compose(late, merging, 4_999)).toMatchObject({ seqs: [], nextMs: 5_000 });
    expect(compose(late, merging).sizes).toEqual([5]);
  });

  it.each([
    ["target", "failing", ["key"], 1],
    ["target", "partial", ["key"], 1],
    ["target", "auth", ["region"], 1],
    ["target", "failing", ["region"], 3],
    ["target", "auth", ["key"], 3],
    ["region", null, ["region"], 1],
    ["server", null, ["key"], 3],
  ] as const)("on a %s (%s) that differ in %j are %d messages", (subject, trouble, by, count) => {
    const of = { subject, trouble, sandboxId: null, serverId: null };
    const alike = [0, 1, 2].map((n) => at(0, { id: `${n}`, ...of, [by[0]]: `${by[0]}-${n}` }));
    const { messages } = compose(alike);
    expect(messages).toHaveLength(count);
    const isPart = messages.map(({ group }) => by[0] in group);
    expect(isPart).toEqual(messages.map(() => count > 1));
  });

  it("are not merged where a receiver groups across regions anyway", () => {
    const both = [...storm(5), ...storm(5, { region: "eu" })];
    const groupBy = ["rule", "key"] as const;
    expect(compose(both, { ...merging, groupBy }).messages).toHaveLength(5);
  });
});

describe("the servers of a pool that is notified", () => {
  const servers = (region: string, serverName: string, count = 3, key = "research") =>
    Array.from({ length: count }, (_, n) =>
      outboxItem({ incident: { id: `${region}-${serverName}-${n}`, region, serverName, key } }),
    );
  const pool = (limits: Partial<NotifiedIncident> = {}): OutboxItem => {
    const of = {
      subject: "pool",
      region: null,
      key: null,
      sandboxId: null,
      serverId: null,
    } as const;
    return outboxItem({ rule: "pool-failing", incident: { id: "pool", ...of, ...limits } });
  };
  const both = [...servers("us", "github"), ...servers("eu", "github")];
  const few = [...servers("us", "github", 2), ...servers("eu", "github", 2)];

  it.each<[what: string, items: readonly OutboxItem[], sizes: readonly number[]]>([
    ["are one message, in whatever regions they are", [...both, pool()], [6, 1]],
    ["are apart without the pool", both, [3, 3]],
    [
      "are apart from those merged by region",
      [...both, ...servers("eu", "git", 2), pool()],
      [3, 5, 1],
    ],
    ["are apart by rule", [...both, ...asRule(both, "stuck"), pool()], [6, 6, 1]],
    ["are apart by severity", [...both, ...asInfo(both), pool()], [6, 6, 1]],
    ["are apart up to the limit", [...few, pool()], [2, 2, 1]],
  ])("%s", (_, items, sizes) => {
    expect(compose(items, { groupLimit: 4, groupBy: ["region", "server_name"] }).sizes).toEqual(
      sizes,
    );
  });

  it.each<[Partial<NotifiedIncident>, readonly number[]]>([
    [{ key: "research", serverName: null }, [6, 1, 1, 1]],
    [{ serverName: "github" }, [6, 1, 1, 1]],
    [{ region: "us", serverName: null }, Array.from({ length: 9 }, () => 1)],
  ])("are apart from servers outside of a pool of %j", (limits, sizes) => {
    const others = ["us", "eu"].flatMap((region) => servers(region, "slack", 1, "batch"));
    const settings = { groupLimit: 4, groupBy: ["incident"] } as const;
    expect(compose([...both, ...others, pool(limits)], settings).sizes).toEqual(sizes);
  });
});
