import { expect, it } from "vitest";
import type { IncidentMessage, NotifiedIncident } from "../../src/alerts/notification.ts";
import { flappingCondition } from "../../src/alerts/subjects.ts";
import { discordMessage } from "../../src/notify/receivers/discord.ts";
import { emailOf } from "../../src/notify/receivers/email.ts";
import { ntfyMessage } from "../../src/notify/receivers/ntfy.ts";
import { pagerdutyEvent } from "../../src/notify/receivers/pagerduty.ts";
import { slackMessage } from "../../src/notify/receivers/slack.ts";
import { teamsMessage } from "../../src/notify/receivers/teams.ts";
import { telegramMessage } from "../../src/notify/receivers/telegram.ts";
import { outboxItem, startMs } from "./support/items.ts";
import { composeOne } from "./support/notifications.ts";

const externalUrl = "https://sandwatch.example.com";
const minuteMs = 60_000;

interface Story {
  readonly type: IncidentMessage;
  readonly afterMs: number;
  readonly servers?: number;
  /** How many different names they have. */
  readonly names?: number;
  readonly incident?: Partial<NotifiedIncident>;
  readonly item?: Partial<Parameters<typeof outboxItem>[0]>;
  readonly stillFiring?: number;
}

const over = { status: "idle", previousStatus: "error" } as const;
const ended = (resolvedReason: "recovered" | "silenced" | "rule_removed") =>
  ({ state: "resolved", resolvedReason, resolvedAtMs: startMs + 12 * minuteMs }) as const;
const byAnn = (hours: number) => ({
  action: { by: "ann", untilMs: startMs + 12 * minuteMs + hours * 60 * minuteMs },
});

const outOf50 = (count: number) => ({ share: { count, total: 50, atMs: startMs } });

const stories: Readonly<Record<string, Story>> = {
  fires: { type: "incident.firing", afterMs: 5_000, servers: 2, item: outOf50(2) },
  "many fire": {
    type: "incident.firing",
    afterMs: 5_000,
    servers: 40,
    names: 3,
    item: outOf50(40),
  },
  "more fire": { type: "incident.firing", afterMs: minuteMs, item: outOf50(3) },
  "fewer fire": {
    type: "incident.resolved",
    afterMs: 12 * minuteMs,
    incident: { ...ended("recovered"), ...over },
    stillFiring: 2,
  },
  "is reminded of": {
    type: "incident.reminder",
    afterMs: 12 * minuteMs,
    servers: 2,
    item: outOf50(3),
  },
  "is acknowledged": {
    type: "incident.acknowledged",
    afterMs: 12 * minuteMs,
    incident: { acknowledgedBy: "ann" },
    item: byAnn(4),
  },
  "is not acknowledged any more": {
    type: "incident.unacknowledged",
    afterMs: 12 * minuteMs,
    item: { action: { by: "bob", untilMs: null } },
  },
  "is silenced": {
    type: "incident.resolved",
    afterMs: 12 * minuteMs,
    servers: 2,
    incident: ended("silenced"),
    item: byAnn(2),
  },
  resolves: {
    type: "incident.resolved",
    afterMs: 12 * minuteMs,
    servers: 2,
    incident: { ...ended("recovered"), ...over },
  },
  "is no concern of a rule any more": {
    type: "incident.resolved",
    afterMs: 12 * minuteMs,
    incident: ended("rule_removed"),
  },
  flaps: {
    type: "incident.reminder",
    afterMs: 12 * minuteMs,
    incident: { flapping: true },
    item: { condition: flappingCondition, detail: "in error 6 times in 1 h" },
  },
  "has settled": {
    type: "incident.reminder",
    afterMs: 12 * minuteMs,
    item: { ...outOf50(1), hasSettled: true },
  },
  "fails of a region": {
    type: "incident.firing",
    afterMs: minuteMs,
    incident: {
      subject: "region",
      region: "eu",
      key: null,
      sandboxId: null,
      serverId: null,
      serverName: null,
      status: null,
      previousStatus: null,
    },
    item: {
      rule: "region-down",
      condition: "all 3 keys failing",
      detail: "HTTP 503; one key was refused before",
      unmonitored: 450,
    },
  },
};

function messageOf({ type, afterMs, servers = 1, names = 1, incident, item, stillFiring }: Story) {
  const items = Array.from({ length: servers }, (_, n) => {
    const serverName = ["github", "slack", "jira"][n % names] ?? null;
    const own = { id: `incident${n}`, serverId: `server-${n}`, serverName, ...incident };
    return outboxItem({ type, causedAtMs: startMs + afterMs, ...item, incident: own });
  });
  return { ...composeOne(items, startMs + afterMs, 3), ...(stillFiring && { stillFiring }) };
}

it("the texts of all types, side by side as a phone shows them, are those that were reviewed", async () => {
  const to = { from: { name: "sandwatch", address: "s@example.com" }, to: ["o@example.com"] };
  const texts = Object.entries(stories).map(([name, story]) => {
    const message = messageOf(story);
    const of = [message, startMs + story.afterMs, externalUrl] as const;
    const isQuiet =
      story.type === "incident.acknowledged" || story.incident?.resolvedReason === "silenced";
    const action = story.type === "incident.resolved" ? "resolve" : "trigger";
    const event = isQuiet ? "acknowledge" : action;
    const goesOn = story.stillFiring !== undefined;
    const ntfy = ntfyMessage(...of);
    const [embed] = discordMessage(...of).embeds;
    const [card] = teamsMessage(...of).attachments;
    const pager = pagerdutyEvent("key", event, "dedup", ...of);
    const lines = {
      ntfy: `${ntfy.title}\n${ntfy.message}`,
      slack: slackMessage(...of).text,
      telegram: telegramMessage(...of).text,
      discord: `${embed?.title}\n${embed?.description}`,
      teams: JSON.stringify(card?.content.body.slice(0, 2)),
      email: emailOf(to, ...of).subject,
      // One alert stands for all: it stays as it is until the last ends, as the tests of PagerDuty show.
      pagerduty: goesOn ? "(no event)" : `${pager.event_action}: ${pager.payload.summary}`,
    };
    const shown = Object.entries(lines).map(([receiver, text]) => `## ${receiver}\n${text}\n`);
    return `# What ${name}\n\n${shown.join("\n")}`;
  });
  for (const text of texts) {
    // No prefix comes twice, and one time zone has its name beside each time.
    expect(text).not.toMatch(/\b(Alert ended|Resolved|Silenced|Acknowledged|Still)[^:\n]*: \1/);
    expect(text).not.toMatch(/\d\d:\d\d(?::\d\d)?(?![\d:]| UTC)/);
  }
  await expect(texts.join("\n")).toMatchFileSnapshot("golden/side-by-side.txt");
});
