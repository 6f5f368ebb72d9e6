import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Notification } from "../../src/core/notification.ts";
import { renderSlackBody } from "../../src/notify/receivers/slack.ts";
import { startMs, toldIncident } from "./support/items.ts";
import { everySubject, hostileTexts, notificationOf } from "./support/notifications.ts";
import { resolvedIncident, textsIn, unsendable } from "./support/notifications.ts";
import { shownBy, slackMessageSchema, type SlackMessage } from "./support/slack-message.ts";

function messageOf(more: Partial<Notification> = {}, nowMs = startMs): SlackMessage {
  return slackMessageSchema.parse(JSON.parse(renderSlackBody(notificationOf(more), nowMs)));
}

const since = (utcMs: number): string =>
  `<!date^${utcMs / 1_000}^{date_short_pretty} {time_secs}|${new Date(utcMs).toISOString()}>`;

describe("a Slack message", () => {
  it("says what happened, to what, since when, and what to do", () => {
    const message = messageOf({
      runbookUrl: "https://runbooks.example/errors?server=git hub&x=a|b",
      incidents: [toldIncident(), toldIncident({ id: "incident-2", serverName: null })],
    });
    expect(message.text).toBe("🔴 1 server in error in us (research): github");
    expect(shownBy(message)).toEqual([
      "🔴 Firing (critical): server-error",
      "1 server in error in us (research): github",
      "*severity*: critical | *region*: us | *key*: research",
      `• github (server-1) in sandbox sandbox-1 in us (research): error, was occupied; since ${since(startMs)}\n` +
        `• server-2 in sandbox sandbox-1 in us (research): error, was occupied; since ${since(startMs)}`,
      `<https://runbooks.example/errors?server=git%20hub&amp;x=a%7Cb|Runbook> | seen ${since(startMs)} | sandwatch`,
    ]);
  });

  it.each<[string, Partial<Notification>]>([
    ["🟠 Firing (warning): server-error", { severity: "warning" }],
    ["🔵 Firing (info): server-error", { severity: "info" }],
    [
      "🔴 Firing, flapping (critical): server-error",
      { incidents: [toldIncident({ flapping: true })] },
    ],
    ["🔴 Still firing (critical): server-error", { type: "incident.reminder" }],
    ["👀 Acknowledged (critical): server-error", { type: "incident.acknowledged" }],
    [
      "✅ Resolved (critical): server-error",
      { type: "incident.resolved", incidents: [resolvedIncident()] },
    ],
    [
      "⚪ Alert ended (critical): server-error",
      {
        type: "incident.resolved",
        incidents: [resolvedIncident({ resolvedReason: "silenced" })],
      },
    ],
    ["🧪 Test (info): server-error", { type: "test", severity: "info", incidents: [] }],
  ])("is headed %s", (heading, more) => {
    expect(shownBy(messageOf(more))[0]).toBe(heading);
  });

  it("says in its first line that it is late", () => {
    const message = messageOf({}, startMs + 125 * 60_000);
    const summary = "Late by 2h5m: 1 server in error in us (research): github";
    expect(message.text).toBe(`🔴 ${summary}`);
    expect(shownBy(message)[1]).toBe(summary);
  });

  it("says when its cause was seen, and not when it was composed", () => {
    const message = messageOf({ causedAtMs: startMs - 60_000, createdAtMs: startMs });
    expect(shownBy(message).at(-1)).toBe(`seen ${since(startMs - 60_000)} | sandwatch`);
  });

  it("shows the values it was grouped by, but for the id of an incident", () => {
    const message = messageOf({ group: { server_name: "git", incident: "incident-1" } });
    expect(shownBy(message)[2]).toBe("*severity*: critical | *server name*: git");
  });

  it("tells of every kind of subject, and who acknowledged it", () => {
    const incidents = [...everySubject, toldIncident({ acknowledgedBy: "<ada>" })];
    const list = shownBy(messageOf({ incidents }))[3]?.split("\n") ?? [];
    expect(list.map((line) => line.replace(/<!date[^>]*>/g, "T"))).toEqual([
      "• github (server-1) in sandbox sandbox-1 in us (research): error, was occupied; since T",
      "• server-1 in sandbox sandbox-1 in us (research): error, was absent; since T",
      "• github (server-1) in sandbox sandbox-1 in us (research): idle, was error, recovered; from T to T",
      "• us (research); since T",
      "• servers named github; since T",
      "• receiver pager; since T",
      "• github (server-1) in sandbox sandbox-1 in us (research): error, was occupied, acknowledged by &lt;ada&gt;; since T",
    ]);
  });

  it("counts what it has no room for", () => {
    const serverName = "&".repeat(1_000);
    const incidents = Array.from({ length: 10_000 }, () => toldIncident({ serverName }));
    const shown = shownBy(messageOf({ incidents, truncated: 7 }));
    const listed = shown.join("\n").split("\n• ").length - 1;
    expect(listed).toBeGreaterThan(40);
    expect(shown).toContain(`… and ${10_007 - listed} more`);
  });

  it.each(hostileTexts)("keeps every limit and its form with a server named by %s", (_, name) => {
    const hostile = toldIncident({
      serverName: name,
      serverId: name,
      sandboxId: name,
      acknowledgedBy: name,
    });
    const message = messageOf({
      summary: `1 server in error: ${name}`,
      group: { region: "us", server_name: name, sandbox_id: name },
      runbookUrl: `https://runbooks.example/${encodeURIComponent(name.toWellFormed())}`,
      incidents: [hostile, { ...hostile, id: "incident-2" }],
    });
    const texts = textsIn(message).map((text) => text.replaceAll("\n", " "));
    expect(texts.filter((text) => unsendable.test(text))).toEqual([]);
    // Nothing that Slack would obey is left but the dates and the link that were meant.
    const orders = texts.flatMap((text) => text.match(/<[^>]*>/g) ?? []);
    expect(orders.filter((order) => !/^<(!date\^|https:\/\/runbooks)/.test(order))).toEqual([]);
  });

  it("keeps every limit whatever is told", () => {
    const text = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom(...hostileTexts.map(([, each]) => each)),
    );
    const name = fc.option(text);
    const incident = fc
      .record({ serverName: name, serverId: name, sandboxId: name, acknowledgedBy: name })
      .map((fields) => toldIncident(fields));
    const incidents = fc.array(incident, { maxLength: 30 });
    fc.assert(
      fc.property(text, incidents, fc.webUrl(), (summary, some, runbookUrl) => {
        const told = { summary, incidents: some, runbookUrl, group: { server_name: summary } };
        expect(() => messageOf(told)).not.toThrow();
      }),
      { numRuns: 100 },
    );
  });
});
