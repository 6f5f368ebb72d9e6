import { describe, expect, it } from "vitest";
import { compileBody } from "../../src/notify/receivers/body-template.ts";
import { discordMessage } from "../../src/notify/receivers/discord.ts";
import { emailOf } from "../../src/notify/receivers/email.ts";
import { teamsMessage } from "../../src/notify/receivers/teams.ts";
import { telegramMessage } from "../../src/notify/receivers/telegram.ts";
import { slackMessage } from "../../src/notify/receivers/slack.ts";
import { pagerdutyEvent } from "../../src/notify/receivers/pagerduty.ts";
import { alertmanagerBody, webhookBody } from "../../src/notify/receivers/webhook.ts";
import { about, openAlertmanager, posted } from "./support/alertmanager.ts";
import { incidentOf, startMs } from "./support/items.ts";
import { firing } from "./support/notified-store.ts";
import { notificationOf } from "./support/notifications.ts";
import { slackMessageSchema } from "./support/slack-message.ts";

const base = "https://ops.example.com/sandwatch";
const one = notificationOf({ runbookUrl: "https://runbooks.example.com/errors" });
const page = `${base}/incidents/incident-1`;
const two = notificationOf({ incidents: [incidentOf(), incidentOf({ id: "incident-2" })] });
const to = { from: { name: "sandwatch", address: "s@example.com" }, to: ["o@example.com"] };

describe("with the address of sandwatch", () => {
  it("Slack keeps within its limits, however long the address is", () => {
    const place = { region: "r".repeat(63), key: "k".repeat(63) };
    const incidents = ["1", "2"].map((id) => incidentOf({ id, ...place }));
    const long = `https://ops.example.com/${"a".repeat(476)}`;
    const longest = notificationOf({ rule: "e".repeat(63), incidents });
    const message = slackMessage(longest, startMs, long);
    expect(slackMessageSchema.safeParse(message).error).toBeUndefined();
  });

  it("a body of one's own has the page of the message, and a test has none", () => {
    const test = webhookBody({ ...one, type: "test" }, startMs, base);
    expect(test.data.incidents[0]).not.toHaveProperty("url");
    expect(compileBody({ link: ["{{ url }}"] })(one, startMs, base).body).toEqual({ link: [page] });
    expect(compileBody("{{ url }}")(one, startMs).body).toBe("");
  });

  it("every type of message links to the shipped runbook, unless the rule has its own", () => {
    const shipped = `${base}/runbooks/server-error`;
    const own = "https://runbooks.example.com/errors";
    const silenced = { resolvedReason: "silenced", state: "resolved" } as const;
    for (const [notification, link] of [
      [two, shipped],
      [one, own],
      [notificationOf({ type: "incident.reminder" }), shipped],
      [notificationOf({ type: "incident.acknowledged" }), shipped],
      [notificationOf({ type: "incident.resolved", incidents: [incidentOf(silenced)] }), shipped],
    ] as const) {
      const sent = {
        slack: slackMessage(notification, startMs, base),
        discord: discordMessage(notification, startMs, base),
        teams: teamsMessage(notification, startMs, base),
        telegram: telegramMessage(notification, startMs, base),
        email: emailOf(to, notification, startMs, base),
        pagerduty: pagerdutyEvent("r".repeat(32), "trigger", "key", notification, startMs, base),
        webhook: webhookBody(notification, startMs, base),
        alertmanager: alertmanagerBody(notification, startMs, base),
        body: compileBody("{{ runbook_url }}")(notification, startMs, base).body,
      };
      const lacking = Object.entries(sent).filter(
        ([, each]) => !JSON.stringify(each).includes(link),
      );
      expect(lacking).toEqual([]);
      expect(JSON.stringify(sent)).not.toContain(link === own ? "/runbooks/server-error" : own);
    }
    const over = { state: "resolved", status: "idle", resolvedReason: "recovered" } as const;
    for (const ended of [
      notificationOf({ type: "incident.resolved", incidents: [incidentOf(over)] }),
      notificationOf({ type: "test" }),
    ]) {
      expect(JSON.stringify(slackMessage(ended, startMs, base))).not.toContain("runbook");
    }
    expect(JSON.stringify(slackMessage(two, startMs))).not.toContain("runbook");
  });

  it.each([
    [null, `${base}/incidents/a`],
    ["https://grafana.example.com/d/a", "https://grafana.example.com/d/a"],
  ])("with generator_url %j an alert in Alertmanager links to %s", async (generatorUrl, link) => {
    const { server, send, commit } = await openAlertmanager(undefined, {
      generatorUrl,
      externalUrl: base,
    });
    await commit(firing("a"));
    await send(about("a"));
    expect(posted(server)).toMatchObject([
      [
        {
          generatorURL: link,
          annotations: {
            incident_url: `${base}/incidents/a`,
            runbook_url: `${base}/runbooks/server-error`,
          },
        },
      ],
    ]);
  });
});
