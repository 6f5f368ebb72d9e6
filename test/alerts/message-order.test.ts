import { describe, expect, it } from "vitest";
import { composeMessages, type MessageSettings } from "../../src/alerts/compose-messages.ts";
import type { OutboxItem, NotifiedIncident } from "../../src/alerts/notification.ts";
import { outboxItem, startMs } from "../notify/support/items.ts";

const settings: MessageSettings = {
  groupBy: ["rule", "region", "key"],
  groupWaitMs: 5_000,
  groupIntervalMs: 5_000,
  mergeAbove: 1_000_000,
  maxIncidents: 50,
};

function compose(items: readonly OutboxItem[], more: Partial<MessageSettings> = {}) {
  const stored = items.map((item, index) => ({ ...item, seq: index + 1 }));
  const { messages, nextDueAtMs } = composeMessages(
    stored,
    { ...settings, ...more },
    startMs + 5_000,
  );
  return { seqs: messages.map(({ itemSeqs }) => itemSeqs), nextDueAtMs };
}

const resolved = "incident.resolved";

describe("what happened to one subject", () => {
  it("never tells a resolve before its fire, though a changed severity parts their groups", () => {
    const { seqs } = compose([
      outboxItem({ severity: "warning", type: resolved, incident: { id: "older" } }),
      outboxItem({ causedAtMs: startMs + 3_000 }),
      outboxItem({ causedAtMs: startMs + 4_000, severity: "warning", type: resolved }),
    ]);
    expect(seqs).toEqual([[1], [2], [3]]);
  });

  it("is sent in order though a group that is due shares it with others only through a third", () => {
    const second = { id: "incident-2" };
    const { seqs, nextDueAtMs } = compose([
      outboxItem({ severity: "critical" }),
      outboxItem({ severity: "info", causedAtMs: startMs + 1_000, incident: second }),
      outboxItem({ severity: "warning", causedAtMs: startMs + 1_000, type: resolved }),
      outboxItem({
        severity: "warning",
        causedAtMs: startMs + 2_000,
        type: resolved,
        incident: second,
      }),
    ]);
    expect(seqs).toEqual([[1], [2], [3, 4]]);
    expect(nextDueAtMs).toBeNull();
  });
});

describe("a subject", () => {
  const none = { sandboxId: null, serverId: null, serverName: null };
  const subjects = {
    server: { subject: "server", sandboxId: "box", serverId: "server" },
    target: { ...none, subject: "target" },
    pool: { ...none, subject: "pool", serverName: "github" },
    probe: { ...none, subject: "probe", probe: "login" },
    receiver: { ...none, subject: "receiver", receiver: "oncall" },
  } as const;
  type Kind = keyof typeof subjects;

  /** One fires and recovers, and then another fires, all in one flush. */
  const composeBoth = (one: Partial<NotifiedIncident>, other: Partial<NotifiedIncident>) => {
    const first = { ...one, id: "incident-1" };
    const items = [
      outboxItem({ incident: first }),
      outboxItem({ incident: first, type: resolved }),
      outboxItem({ incident: { ...other, id: "incident-2" } }),
    ];
    return compose(items, { groupBy: ["rule"] }).seqs;
  };

  it.each<Kind>(["server", "target", "pool", "probe", "receiver"])(
    "that fires again is sent after its recovery: a %s",
    (kind) => {
      const same = subjects[kind];
      expect(composeBoth(same, { ...same, status: "occupied" })).toEqual([[1], [2], [3]]);
    },
  );

  it.each<[Kind, Partial<NotifiedIncident>]>([
    ["server", { region: "eu" }],
    ["server", { key: "batch" }],
    ["server", { sandboxId: "another" }],
    ["server", { serverId: "another" }],
    ["target", { region: "eu" }],
    ["target", { key: "batch" }],
    ["target", subjects.server],
    ["target", { subject: "pool" }],
    ["pool", { region: "eu" }],
    ["pool", { key: "batch" }],
    ["pool", { key: null }],
    ["pool", { serverName: "slack" }],
    ["probe", { region: "eu" }],
    ["probe", { key: "batch" }],
    ["probe", { probe: "universes" }],
    ["probe", { subject: "target" }],
    ["receiver", { receiver: "pager" }],
  ])("does not wait for another: a %s, and one with %j", (kind, difference) => {
    const one = subjects[kind];
    expect(composeBoth(one, { ...one, ...difference })).toEqual([[1, 3], [2]]);
  });

  it("of one rule does not take along what another rule says of it", () => {
    const other = outboxItem({
      rule: "stuck",
      causedAtMs: startMs + 3_000,
      incident: { id: "incident-2", serverId: "server-1" },
    });
    expect(compose([outboxItem(), other])).toEqual({ seqs: [[1]], nextDueAtMs: startMs + 8_000 });
  });
});
