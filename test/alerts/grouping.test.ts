import { describe, expect, it } from "vitest";
import { groupFields } from "../../src/alerts/notification.ts";
import type { NotifiedIncident, OutboxItem } from "../../src/alerts/notification.ts";
import { outboxItem, startMs } from "../notify/support/items.ts";
import { compose } from "./support/compose.ts";

const resolved = "incident.resolved";
const causedAfter = (ms: number, incident: Partial<NotifiedIncident> = {}): OutboxItem =>
  outboxItem({ causedAtMs: startMs + ms, incident });

const second = { id: "incident-2", serverId: "server-2", serverName: "git" };
const other = { id: "other", region: "eu" };

describe("a group", () => {
  it.each<
    [
      what: string,
      items: readonly OutboxItem[],
      afterMs: number,
      seqs: number[][],
      next: number | null,
    ]
  >([
    ["waits for its oldest item", [causedAfter(0), causedAfter(1)], 4_999, [], 5_000],
    ["is due when that waited its time", [causedAfter(0), causedAfter(1)], 5_000, [[1, 2]], null],
    ["contains younger items", [causedAfter(0), causedAfter(4_999, second)], 5_000, [[1, 2]], null],
    ["waits for itself", [causedAfter(0), causedAfter(2_000, other)], 5_000, [[1]], 7_000],
    ["does not wait for a cause in the future", [causedAfter(86_400_000)], 5_000, [[1]], null],
  ])("%s", (_, items, afterMs, seqs, nextDueAfterMs) => {
    expect(compose(items, {}, afterMs)).toMatchObject({ seqs, nextDueAfterMs });
  });

  const interval = { groupIntervalMs: 60_000 };
  const { times } = compose([outboxItem()], interval);

  it.each<[what: string, item: OutboxItem, afterMs: number, next: number | null]>([
    ["waits for its interval", causedAfter(10_000, second), 64_999, 65_000],
    ["is due after its interval", causedAfter(10_000, second), 65_000, null],
    ["waits as any other after its interval", causedAfter(100_000), 104_999, 105_000],
    ["is the same for another type", { ...causedAfter(10_000), type: resolved }, 20_000, 65_000],
    ["does not wait for a clock that was set back", causedAfter(-3_600_000), -3_595_000, null],
    ["does not wait for its interval by such a clock", causedAfter(3_600_000), 10_000, null],
  ])("that was notified %s", (_, item, afterMs, nextDueAfterMs) => {
    const composed = compose([item], interval, afterMs, times);
    expect(composed.nextDueAfterMs).toBe(nextDueAfterMs);
    expect(composed.seqs).toHaveLength(nextDueAfterMs === null ? 1 : 0);
  });

  it("that was notified keeps no other group waiting", () => {
    const items = [causedAfter(10_000, second), causedAfter(10_000, { key: "batch" })];
    expect(compose(items, interval, 15_000, times)).toMatchObject({
      seqs: [[2]],
      nextDueAfterMs: 65_000,
    });
  });
});

describe("a message", () => {
  it("is one for each type: firing, reminder, resolved", () => {
    const { messages, seqs } = compose([
      outboxItem(),
      outboxItem({ incident: second }),
      outboxItem({ type: "incident.reminder" }),
      outboxItem({ type: resolved, incident: second }),
      outboxItem({ type: resolved }),
    ]);
    expect(messages.map(({ type }) => type)).toEqual([
      "incident.firing",
      "incident.reminder",
      resolved,
    ]);
    expect(seqs).toEqual([[1, 2], [3], [4, 5]]);
  });

  it("has the values that it was grouped by, without the rule, and nothing for what a target lacks", () => {
    const incident = { subject: "target", sandboxId: null, serverName: null } as const;
    const { messages } = compose([outboxItem({ incident })], { groupBy: groupFields });
    expect(messages[0]?.group).toEqual({
      region: "us",
      key: "research",
      sandbox_id: "",
      server_name: "",
      probe: "",
      incident: "incident-1",
    });
  });

  it("counts what is beyond the receiver's limit, and is as old as its oldest item", () => {
    const items = [3_000, 1_000, 2_000].map((ms, n) => causedAfter(ms, { id: `i${n}` }));
    const { messages, seqs } = compose(items, { maxIncidents: 2 }, 9_000);
    expect(messages).toMatchObject([
      {
        incidents: [{ id: "i0" }, { id: "i1" }],
        truncated: 1,
        summary: "3 servers in error in us (research)",
        causedAtMs: startMs + 1_000,
      },
    ]);
    expect(seqs).toEqual([[1, 2, 3]]);
  });

  it("names an incident once, in its latest state", () => {
    const first = outboxItem({ type: "incident.reminder" });
    const again = outboxItem({ type: "incident.reminder", incident: { previousStatus: "idle" } });
    expect(compose([first, again])).toMatchObject({
      messages: [{ incidents: [again.incident] }],
      seqs: [[1, 2]],
    });
  });

  it("has the runbook's address, filled", () => {
    const addressOf = (runbookUrlTemplate: string | null) =>
      compose([outboxItem({ runbookUrlTemplate })]).messages[0]?.runbookUrl;
    expect(addressOf("https://wiki/{rule}?s={server_name}")).toBe(
      "https://wiki/server-error?s=github",
    );
    expect(addressOf(null)).toBeNull();
  });
});

describe("the notifications of one subject", () => {
  it("are in order though a changed severity parts their groups", () => {
    const severity = "warning";
    const { seqs } = compose([
      outboxItem({ severity, type: resolved, incident: { id: "older" } }),
      causedAfter(3_000),
      { ...causedAfter(4_000), severity, type: resolved },
    ]);
    expect(seqs).toEqual([[1], [2], [3]]);
  });

  it("are in order though a group that is due shares it with others only through a third", () => {
    const { seqs, nextDueAfterMs } = compose([
      outboxItem({ severity: "critical" }),
      { ...causedAfter(1_000, { id: "incident-2" }), severity: "info" },
      { ...causedAfter(1_000), severity: "warning", type: resolved },
      { ...causedAfter(2_000, { id: "incident-2" }), severity: "warning", type: resolved },
    ]);
    expect(seqs).toEqual([[1], [2], [3, 4]]);
    expect(nextDueAfterMs).toBeNull();
  });

  it("do not take along what another rule says of it", () => {
    const item = {
      ...causedAfter(3_000, { id: "incident-2", serverId: "server-1" }),
      rule: "stuck",
    };
    expect(compose([outboxItem(), item])).toMatchObject({ seqs: [[1]], nextDueAfterMs: 8_000 });
  });

  const none = { sandboxId: null, serverId: null, serverName: null };
  const subjects = {
    server: { subject: "server", sandboxId: "box", serverId: "server" },
    target: { ...none, subject: "target" },
    pool: { ...none, subject: "pool", serverName: "github" },
    probe: { ...none, subject: "probe", probe: "login" },
    receiver: { ...none, subject: "receiver", receiver: "oncall" },
  } as const;

  /** One fires and recovers, and then the other fires, all in one flush. */
  it.each<[keyof typeof subjects, Partial<NotifiedIncident>, number[][]]>([
    ["server", { status: "occupied" }, [[1], [2], [3]]],
    ["server", { serverName: "renamed" }, [[1], [2], [3]]],
    ["target", {}, [[1], [2], [3]]],
    ["pool", {}, [[1], [2], [3]]],
    ["probe", {}, [[1], [2], [3]]],
    ["receiver", {}, [[1], [2], [3]]],
    ["server", { region: "eu" }, [[1, 3], [2]]],
    ["server", { key: "batch" }, [[1, 3], [2]]],
    ["server", { sandboxId: "another" }, [[1, 3], [2]]],
    ["server", { serverId: "another" }, [[1, 3], [2]]],
    ["target", { region: "eu" }, [[1, 3], [2]]],
    ["target", { key: "batch" }, [[1, 3], [2]]],
    ["target", subjects.server, [[1, 3], [2]]],
    ["target", { subject: "pool" }, [[1, 3], [2]]],
    ["pool", { key: null }, [[1, 3], [2]]],
    ["pool", { serverName: "slack" }, [[1, 3], [2]]],
    ["probe", { key: "batch" }, [[1, 3], [2]]],
    ["probe", { probe: "universes" }, [[1, 3], [2]]],
    ["receiver", { receiver: "pager" }, [[1, 3], [2]]],
  ])("are in order: a %s, and the same with %j", (kind, difference, expected) => {
    const one = { ...subjects[kind], id: "incident-1" };
    const next = { ...one, ...difference, id: "incident-2" };
    const items = [
      outboxItem({ incident: one }),
      outboxItem({ incident: one, type: resolved }),
      outboxItem({ incident: next }),
    ];
    expect(compose(items, { groupBy: ["rule"] }).seqs).toEqual(expected);
  });
});
