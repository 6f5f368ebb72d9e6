import { describe, expect, it } from "vitest";
import { latenessMs, summaryAt } from "../../src/alerts/notification.ts";
import type { NotifiedIncident, OutboxItem } from "../../src/alerts/notification.ts";
import { summarize } from "../../src/alerts/notification-summary.ts";
import { fillTemplate } from "../../src/alerts/template.ts";
import { compileBody } from "../../src/notify/receivers/body-template.ts";
import { chatMessage } from "../../src/notify/receivers/chat-message.ts";
import { incidentLine } from "../../src/notify/receivers/message-text.ts";
import { alertmanagerBody } from "../../src/notify/receivers/webhook.ts";
import { incidentOf, outboxItem, startMs } from "../notify/support/items.ts";
import { notificationOf } from "../notify/support/notifications.ts";

type Item = Parameters<typeof outboxItem>[0];
type Incident = Partial<NotifiedIncident>;

const none = { sandboxId: null, serverId: null, serverName: null, status: null };
const firing = (incident: Incident = {}, more: Item = {}) => outboxItem({ ...more, incident });
const resolved = (incident: Incident = {}, more: Item = {}) =>
  firing(incident, { type: "incident.resolved", ...more });
const reminder = (more: Item = {}) => outboxItem({ type: "incident.reminder", ...more });
const target = (
  condition: string,
  of: typeof firing = firing,
  incident: Incident = {},
  more: Item = {},
) => of({ ...none, subject: "target", ...incident }, { condition, ...more });
const region = (name: string, more: Item = {}) =>
  firing(
    { ...none, id: name, subject: "region", region: name, key: null },
    { condition: "failing", ...more },
  );
const pool = (incident: Incident = {}, of: typeof firing = firing) => {
  const subject = { subject: "pool", sandboxId: null, serverId: null } as const;
  return of({ ...subject, status: null, ...incident }, { condition: "more than 90% occupied" });
};
const receiver = (name: string, of: typeof firing = firing) => {
  const subject = { ...none, subject: "receiver", region: null, key: null } as const;
  const condition = "not accepting notifications";
  return of({ ...subject, id: name, receiver: name }, { condition });
};
const acknowledged = (acknowledgedBy: string, id = "incident-1", more: Item = {}) =>
  firing({ id, acknowledgedBy }, { type: "incident.acknowledged", ...more });
const flapping = (times: number, incident: Incident = {}, more: Item = {}) =>
  firing(
    { flapping: true, ...incident },
    { condition: "flapping", detail: `in error ${times} times in 10m`, ...more },
  );

const second = { id: "incident-2", serverName: "git" };
const inEurope = { id: "e", region: "eu" };
const silenced = { resolvedReason: "silenced" } as const;
const removed = { resolvedReason: "rule_removed" } as const;
const byAnn = { action: { by: "ann", untilMs: startMs + 2 * 3_600_000 } };
const worded = { summaryTemplate: "{server_name} down in {region}" };

describe("a summary", () => {
  it.each<[summary: string, ...items: OutboxItem[]]>([
    ["1 github server in error in us/research since 09:30 UTC (2 min)", firing()],
    ["Still: 1 github server in error in us/research since 09:30 UTC (2 min)", reminder()],
    ["Resolved after 1 min: 1 github server in error in us/research", resolved()],
    [
      "2 github servers in error in us/research since 09:30 UTC (2 min)",
      firing(),
      firing({ id: "incident-2" }),
    ],
    [
      "3 servers in error in us/research since 09:30 UTC (2 min): 2 github, git",
      firing(),
      firing(second),
      firing({ id: "incident-3" }),
    ],
    [
      "Resolved after up to 1h1m: 2 servers in error in us/research: github, git",
      resolved(),
      resolved({ ...second, startedAtMs: startMs - 3_600_000 }),
    ],
    [
      "2 github servers in error in 2 regions (research) since 09:30 UTC (2 min)",
      firing(),
      firing(inEurope),
    ],
    [
      "2 github servers in error in 2 regions since 09:30 UTC (2 min)",
      firing(),
      firing({ ...inEurope, key: "sales" }),
    ],
    [
      "1 github server in error in us/research since 2026-11-18 09:30 UTC (2d2m)",
      firing({ startedAtMs: startMs - 2 * 86_400_000 }),
    ],
    ["Alert ended after 1 min: 1 github server in error in us/research", resolved(removed)],
    ["Silenced after 1 min: 1 github server in error in us/research", resolved(silenced)],
    [
      "Silenced by ann for 2h, still firing: 1 github server in error in us/research since 09:30 UTC (2 min)",
      resolved(silenced, byAnn),
    ],
    [
      "1 github server flapping in us/research since 09:30 UTC (2 min, in error 3 times in 10m)",
      flapping(3),
    ],
    [
      "2 servers flapping in us/research since 09:30 UTC (2 min): github, git",
      flapping(3),
      flapping(4, second),
    ],
    [
      "3 github servers in error in us/research since 09:30 UTC (2 min, for long); 1 of them flapping",
      flapping(3),
      firing({ id: "incident-2" }, { detail: "for long" }),
      firing({ id: "incident-3" }, { detail: "for long" }),
    ],
    [
      "Still: 2 servers in error in us/research since 09:30 UTC (2 min): github, git; 1 of them flapping",
      flapping(3, {}, { type: "incident.reminder" }),
      firing(second, { type: "incident.reminder" }),
    ],
    [
      "us/research down since 09:30 UTC (2 min, HTTP 503, 3 polls in a row); 150 servers unmonitored",
      target("down", firing, {}, { detail: "HTTP 503, 3 polls in a row", unmonitored: 150 }),
    ],
    ["Resolved after 1 min: us/research down", target("down", resolved)],
    [
      "2 targets down in 2 regions (research) since 09:30 UTC (2 min): us, eu; 3 servers unmonitored",
      target("down", firing, {}, { detail: "timeout", unmonitored: 1 }),
      target("down", firing, inEurope, { detail: "network", unmonitored: 2 }),
    ],
    [
      "2 targets down in us since 09:30 UTC (2 min): research, batch",
      target("down"),
      target("down", firing, { id: "b", key: "batch" }),
    ],
    [
      "2 targets down in 2 regions since 09:30 UTC (2 min): us/research, eu/batch",
      target("down"),
      target("down", firing, { ...inEurope, key: "batch" }),
    ],
    [
      "eu: all 12 keys failing since 09:30 UTC (2 min, HTTP 503); 1 server unmonitored",
      region("eu", { condition: "all 12 keys failing", detail: "HTTP 503", unmonitored: 1 }),
    ],
    ["Resolved after 1 min: eu failing", region("eu", { type: "incident.resolved" })],
    ["2 regions failing since 09:30 UTC (2 min): eu, us", region("eu"), region("us")],
    [
      "2 regions flapping since 09:30 UTC (2 min): eu, us",
      ...["eu", "us"].map((name) => {
        const item = region(name, { condition: "flapping" });
        return { ...item, incident: { ...item.incident, flapping: true } };
      }),
    ],
    ["servers named github in us/research more than 90% occupied since 09:30 UTC (2 min)", pool()],
    [
      "Resolved after 1 min: servers named github in us more than 90% occupied",
      pool({ key: null }, resolved),
    ],
    [
      "servers more than 90% occupied since 09:30 UTC (2 min)",
      pool({ region: null, key: null, serverName: null }),
    ],
    ["2 pools in us/research more than 90% occupied since 09:30 UTC (2 min)", pool(), pool(second)],
    ["Resolved after 1 min: receiver chat not accepting notifications", receiver("chat", resolved)],
    [
      "2 receivers not accepting notifications since 09:30 UTC (2 min): pager, chat",
      receiver("pager"),
      receiver("chat"),
    ],
    [
      "Acknowledged by ada : 1 github server in error in us/research since 09:30 UTC (2 min)",
      acknowledged("ada\n"),
    ],
    [
      "Acknowledged by ada, bob: 2 github servers in error in us/research since 09:30 UTC (2 min)",
      acknowledged("ada"),
      acknowledged("bob", "incident-2"),
    ],
    ["github down in us", firing({}, worded)],
    ["Resolved after 1 min: github down in us", resolved({}, worded)],
    ["Alert ended after 1 min: github down in us", resolved(removed, worded)],
    [
      "Silenced by ann for 2h, still firing: github down in us",
      resolved(silenced, { ...worded, ...byAnn }),
    ],
    ["Acknowledged by ada: github down in us", acknowledged("ada", "incident-1", worded)],
    ["Flapping: github down in us", flapping(3, {}, { ...worded, type: "incident.reminder" })],
    [
      "github down (timeout)",
      firing(
        {},
        { condition: "down", detail: "timeout", summaryTemplate: "{server_name} {condition}" },
      ),
    ],
    [
      "1 github server in error in us/research since 09:30 UTC (2 min)",
      firing({}, { summaryTemplate: "{probe}" }),
    ],
  ])("says %j", (summary, ...items) => {
    expect(summarize(items, startMs + 120_000)).toBe(summary);
  });

  it.each([
    ["@everyone", "＠everyone"],
    ["<!channel> <@U012AB3CD>", "‹!channel> ‹@U012AB3CD>"],
    ["<@&1> <at>ann</at> @HERE", "‹@&1> ‹at>ann</at> ＠HERE"],
    ["<users/all> <at id='0'>ann</at>", "‹users/all> ‹at id='0'>ann</at>"],
    ["@room @**all** @_**ann**", "＠room ＠**all** ＠_**ann**"],
    ["ann@example.com x@y <b>", "ann@example.com x@y <b>"],
  ])("shows mentions in names, but they notify nobody: %s", (name, shown) => {
    const items = [firing({ serverName: name })];
    expect(summarize(items, null)).toContain(`1 ${shown} server in error`);
    expect(fillTemplate("{server_name}", items)).toBe(shown);
    const notification = notificationOf({ incidents: items.map(({ incident }) => incident) });
    const fill = compileBody(
      "{{ server_name }}{% for i in incidents %}{{ i.server_name }}{% endfor %}",
    );
    expect(fill(notification, startMs).body).toBe(shown + shown);
  });

  it.each([
    { serverName: null, serverId: "@channel" },
    { serverName: null, serverId: "<!here>-1" },
    { serverName: " ", serverId: "@all" },
    { sandboxId: "<!channel>" },
    { acknowledgedBy: "@everyone" },
    { subject: "pool", serverName: "<@U012AB3CD>" },
  ] as const)("mentions nobody, whatever the service says: %j", (hostile) => {
    const items = [firing(hostile), firing({ ...hostile, id: "i2", region: "eu" })];
    const incidents = [incidentOf(hostile)];
    const notification = notificationOf({ incidents, summary: summarize(items, null) });
    const said = JSON.stringify([
      chatMessage(notification, startMs, null),
      incidents.map((each) => incidentLine(each)),
      alertmanagerBody(notification, startMs),
    ]);
    expect(said).not.toMatch(/@(everyone|here|channel|all)\b|<[!@]/);
    expect(said).toMatch(/[＠‹]/);
  });

  it("names the most frequent names of many servers, and counts the others", () => {
    const names = ["git", ...Array<string>(90).fill("slack"), ...Array<string>(120).fill("github")];
    const others = ["jira", "cal", "mail"];
    const items = [...names, ...others].map((serverName, n) => firing({ id: `i${n}`, serverName }));
    expect(summarize(items, null)).toBe(
      "214 servers in error in us/research since 2026-11-20 09:30 UTC: 120 github, 90 slack, git and 3 others",
    );
  });

  it.each([null, "", " ", "\u0007\u200b"])(
    "names a server by its id where its name is %j",
    (name) => {
      const incident = { serverId: "4f2a91c0-1", serverName: name };
      expect(summarize([firing(incident)], null)).toMatch(/^server 4f2a91c0-1 in error in us/);
      expect(summarize([firing(incident, worded)], null)).toBe("4f2a91c0-1 down in us");
    },
  );

  it.each<[OutboxItem, RegExp]>([
    [firing({ serverName: `a\nb\u0007${"x".repeat(9_000)}` }), /^1 a b x+… server in error in /],
    [firing({}, { summaryTemplate: `{server_name}\n${"x".repeat(2_000)}` }), /^github x+…$/],
    [acknowledged(`${"x".repeat(59)}🏖🏖`), /^Acknowledged by x{59}…: /],
  ])("is one short line without half characters, whatever is in it: %#", (item, pattern) => {
    const summary = summarize([item], null);
    expect(summary).toMatch(pattern);
    expect(summary.length).toBeLessThanOrEqual(501);
  });
});

it.each([
  [5, null, "in error"],
  [5.4, 5.4, "Late by 5m: in error"],
  [59.6, 59.6, "Late by 1h: in error"],
  [125, 125, "Late by 2h5m: in error"],
  [-1, null, "in error"],
])(
  "a message that is sent %d minutes after its cause is late by %s: %s",
  (minutes, late, shown) => {
    const message = { causedAtMs: startMs, summary: "in error" };
    const nowMs = startMs + minutes * 60_000;
    expect(latenessMs(message, nowMs)).toBe(late && late * 60_000);
    expect(summaryAt(message, nowMs)).toBe(shown);
  },
);

it.each([
  [undefined, "Resolved: github"],
  [2, "Resolved: github; 2 still firing"],
  [10_000, "Resolved: github; at least 10,000 still firing"],
])("a message of a resolve says how many still fire: %j", (stillFiring, shown) => {
  const message = { causedAtMs: startMs, summary: "Resolved: github" };
  expect(summaryAt({ ...message, ...(stillFiring && { stillFiring }) }, startMs)).toBe(shown);
});
