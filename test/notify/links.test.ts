import { describe, expect, it } from "vitest";
import { compileBody } from "../../src/notify/receivers/body-template.ts";
import { discordMessage } from "../../src/notify/receivers/discord.ts";
import { emailOf } from "../../src/notify/receivers/email.ts";
import { teamsMessage } from "../../src/notify/receivers/teams.ts";
import { telegramMessage } from "../../src/notify/receivers/telegram.ts";
import { slackMessage } from "../../src/notify/receivers/slack.ts";
import { pagerdutyEvent } from "../../src/notify/receivers/pagerduty.ts";
import { alertmanagerBody, webhookBody } from "../../src/notify/receivers/webhook.ts";
import { webhookBodySchema } from "../support/webhook-body.ts";
import { about, openAlertmanager, posted } from "./support/alertmanager.ts";
import { incidentOf, startMs } from "./support/items.ts";
import { firing } from "./support/notified-store.ts";
import { notificationOf } from "./support/notifications.ts";
import { pagerdutyEventSchema } from "./support/pagerduty-event.ts";
import { shownBy, slackMessageSchema } from "./support/slack-message.ts";

const base = "https://ops.example.com/sandwatch";
const one = notificationOf({ runbookUrl: "https://runbooks.example.com/errors" });
const page = `${base}/incidents/incident-1`;
const two = notificationOf({ incidents: [incidentOf(), incidentOf({ id: "incident-2" })] });
const to = { from: { name: "sandwatch", address: "s@example.com" }, to: ["o@example.com"] };
const query = "?rule=server-error&region=us&key=research";

describe("with the address of sandwatch", () => {
  it("Slack shows links and no buttons, within its limits", () => {
    const shown = shownBy(slackMessageSchema.parse(slackMessage(one, startMs, base)));
    expect(shown).toContain(
      `*<${page}|Incident>  ·  <${page}/acknowledge|Acknowledge>  ·  <${page}/silence|Silence>*`,
    );
    const group = shownBy(slackMessageSchema.parse(slackMessage(two, startMs, base)));
    expect(group.join("\n")).toContain(
      `<${base}/incidents/acknowledge${query.replaceAll("&", "&amp;")}|Acknowledge>`,
    );
    const place = { region: "r".repeat(63), key: "k".repeat(63) };
    const incidents = ["1", "2"].map((id) => incidentOf({ id, ...place }));
    const long = `https://ops.example.com/${"a".repeat(476)}`;
    const longest = notificationOf({ rule: "e".repeat(63), incidents });
    slackMessageSchema.parse(slackMessage(longest, startMs, long));
  });

  it("PagerDuty links to the incident, and to what can be done", () => {
    const eventOf = (notification: typeof one) =>
      pagerdutyEventSchema.parse(
        pagerdutyEvent("r".repeat(32), "trigger", "key", notification, startMs, base),
      );
    expect(eventOf(one)).toMatchObject({
      client_url: page,
      links: [
        { href: page, text: "Incident" },
        { href: `${page}/acknowledge`, text: "Acknowledge" },
        { href: `${page}/silence`, text: "Silence" },
        { href: "https://runbooks.example.com/errors", text: "Runbook" },
      ],
    });
    expect(eventOf(two).client_url).toBe(`${base}/incidents${query}`);
  });

  it("a webhook's bodies have the pages of the message and of each incident", () => {
    const body: unknown = JSON.parse(JSON.stringify(webhookBody(two, startMs, base)));
    expect(webhookBodySchema.parse(body).data).toMatchObject({
      external_url: `${base}/incidents${query}`,
      incidents: [{ url: page }, { url: `${base}/incidents/incident-2` }],
    });
    const test = webhookBody({ ...one, type: "test" }, startMs, base);
    expect(test.data.incidents[0]).not.toHaveProperty("url");
    expect(alertmanagerBody(two, startMs, base)).toMatchObject({
      externalURL: base,
      alerts: [{ generatorURL: page }, { generatorURL: `${base}/incidents/incident-2` }],
    });
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
