import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { stringify } from "yaml";
import type { Incident } from "../../src/alerts/incident.ts";
import type { IncidentMessage, Notification, OutboxItem } from "../../src/alerts/notification.ts";
import { seededRandom, shortId } from "../../src/lib/random.ts";
import { Secret } from "../../src/lib/secret.ts";
import { compileBody } from "../../src/notify/receivers/body-template.ts";
import { discordMessage } from "../../src/notify/receivers/discord.ts";
import { emailOf } from "../../src/notify/receivers/email.ts";
import { ntfyMessage } from "../../src/notify/receivers/ntfy.ts";
import { alertKey, pagerdutyEvent } from "../../src/notify/receivers/pagerduty.ts";
import { createSlackAppReceiver } from "../../src/notify/receivers/slack-app.ts";
import { slackMessage } from "../../src/notify/receivers/slack.ts";
import { teamsMessage } from "../../src/notify/receivers/teams.ts";
import { telegramMessage } from "../../src/notify/receivers/telegram.ts";
import { alertmanagerBody, webhookBody } from "../../src/notify/receivers/webhook.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import type { PostedAlert } from "../support/postable-alerts.ts";
import { about, openAlertmanager, posted } from "./support/alertmanager.ts";
import { outboxItem, startMs } from "./support/items.ts";
import { composeOne, reportOf } from "./support/notifications.ts";
import { firing, openNotifiedStore, resolved } from "./support/notified-store.ts";
import { openOutbound } from "./support/outbound.ts";
import type { ReceiverServer } from "./support/receiver-server.ts";
import { startSlackApi } from "./support/slack-api.ts";

const nowMs = startMs + 12 * 60_000;
const externalUrl = "https://sandwatch.example.com";
const names = ["github", "slack", "git", "jira", "calendar", null];
const runbookUrlTemplate = "https://runbooks.example.com/{rule}";

const hexId = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 8);

function incidentId(n: number): string {
  const random = seededRandom(n + 1);
  return shortId((below) => Math.floor(random() * below));
}

function server(n: number) {
  const serverName = names[Math.floor(Math.sqrt(n)) % names.length] ?? null;
  return { sandboxId: hexId(`sandbox ${n}`), serverId: hexId(`server ${n}`), serverName };
}

/** Servers of one region and key: all fail in one poll, and all recover in one. */
function items(count: number, type: IncidentMessage): readonly OutboxItem[] {
  const recovered = { status: "idle", previousStatus: "error", resolvedAtMs: nowMs } as const;
  return Array.from({ length: count }, (_, n) =>
    outboxItem({
      type,
      causedAtMs: type === "incident.resolved" ? nowMs : startMs,
      runbookUrlTemplate,
      incident: {
        id: incidentId(n),
        ...server(n),
        ...(type === "incident.resolved" && recovered),
      },
    }),
  );
}

const atMs = (type: IncidentMessage): number =>
  type === "incident.resolved" ? nowMs : startMs + 5_000;

function messageOf(count: number, type: IncidentMessage, maxIncidents: number): Notification {
  return composeOne(items(count, type), atMs(type), maxIncidents);
}

/** Long lists as their first and last item and the number of those between. */
function abridged(value: unknown): unknown {
  if (typeof value === "string") return between(value.split("\n"), "more lines").join("\n");
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return between(value.map(abridged), "more");
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, abridged(each)]));
}

function between(list: readonly unknown[], what: string): readonly unknown[] {
  return list.length > 8 ? [list[0], `(${list.length - 2} ${what})`, list.at(-1)] : list;
}

function reviewable(heading: string, value: unknown): string {
  return `# ${heading}\n${stringify(abridged(value), { lineWidth: 0, aliasDuplicateObjects: false })}`;
}

/** As a store has it that receivers are notified from. */
function storedIncident(n: number, type: IncidentMessage): Incident {
  const more = { subject: { kind: "server", ...server(n) } } as const;
  return type === "incident.resolved"
    ? resolved(incidentId(n), nowMs, { ...more, status: "idle", previousStatus: "error" })
    : firing(incidentId(n), more);
}

function requestsIn({ requests }: Pick<ReceiverServer, "requests">): readonly object[] {
  return requests.map(({ method, path, body }) => ({
    request: `${method} ${path}`,
    ...JSON.parse(body),
  }));
}

type Render = (count: number, type: IncidentMessage) => unknown;

const formats: Readonly<Record<string, Render>> = {
  webhook: (count, type) => webhookBody(messageOf(count, type, 100), atMs(type), externalUrl),
  "webhook-alertmanager": (count, type) =>
    alertmanagerBody(messageOf(count, type, 100), atMs(type), externalUrl),
  "webhook-body": (count, type) =>
    compileBody({
      text: "[{{ severity }}] {{ summary }} {{ url }}",
      servers: "{{ server_name }}",
      list: "{% for i in incidents %}{{ i.id }} {{ i.server_name | default: i.server_id }}\n{% endfor %}",
    })(messageOf(count, type, 100), atMs(type), externalUrl).body,
  slack: (count, type) => slackMessage(messageOf(count, type, 20), atMs(type), externalUrl),
  /** Of those that it sends after it was notified that they fire: the message as it is changed, and the answer in its thread. */
  async slack_app(count, type) {
    const slack = await startSlackApi();
    const { store, commit } = await openNotifiedStore({ runbookUrlTemplate });
    const clock = createFakeClock(atMs("incident.firing"));
    const receiver = createSlackAppReceiver(
      {
        name: "am",
        url: new Secret(slack.server.origin),
        token: new Secret("xoxb-T0PSECRET"),
        channel: "alerts",
        maxIncidents: 20,
        appToken: new Secret("xapp-T0PSECRET"),
      },
      {
        clock,
        outbound: openOutbound(clock),
        externalUrl,
        notifiedAlerts: store.notified,
        messageThreads: store.messageThreads,
      },
    );
    const send = async (sent: IncidentMessage, make: (n: number) => Incident): Promise<void> => {
      await commit(...Array.from({ length: count }, (_, n) => make(n)));
      const { signal } = new AbortController();
      const result = await receiver.send(messageOf(count, sent, 20), signal);
      expect(result).toEqual({ kind: "delivered" });
    };
    await send("incident.firing", (n) => storedIncident(n, "incident.firing"));
    if (type === "incident.firing") return requestsIn(slack.server);
    clock.advance(atMs(type) - atMs("incident.firing"));
    await send(type, (n) => storedIncident(n, type));
    return requestsIn(slack.server).slice(1);
  },
  discord: (count, type) => discordMessage(messageOf(count, type, 20), atMs(type), externalUrl),
  teams: (count, type) => teamsMessage(messageOf(count, type, 20), atMs(type), externalUrl),
  telegram: (count, type) => telegramMessage(messageOf(count, type, 20), atMs(type), externalUrl),
  ntfy: (count, type) => ntfyMessage(messageOf(count, type, 20), atMs(type), externalUrl),
  email(count, type) {
    const from = { name: "sandwatch", address: "sandwatch@example.com" };
    const to = ["oncall@example.com"];
    return emailOf({ from, to }, messageOf(count, type, 100), atMs(type), externalUrl);
  },
  pagerduty(count, type) {
    const message = messageOf(count, type, 100);
    const key = message.incidents.map((incident) => alertKey(message.rule, incident))[0] ?? "";
    const action = type === "incident.resolved" ? "resolve" : "trigger";
    return pagerdutyEvent("0".repeat(32), action, key, message, atMs(type), externalUrl);
  },
  async alertmanager(count, type) {
    const am = await openAlertmanager(undefined, { externalUrl, text: { runbookUrlTemplate } });
    am.clock.advance(atMs(type) - startMs);
    const all = Array.from({ length: count }, (_, n) => storedIncident(n, type));
    await am.commit(...all);
    await am.send(about(...all.map(({ id }) => id)));
    const alerts = posted(am.server).flat();
    expect(alerts).toHaveLength(count);
    // The store lists incidents in an order of its own.
    const ids = all.map(({ id }) => id);
    const order = ({ annotations }: PostedAlert) => ids.indexOf(annotations["incident_id"] ?? "");
    return alerts.toSorted((one, other) => order(one) - order(other));
  },
};

it.each(Object.entries(formats))(
  "messages of %s are those that were reviewed",
  async (format, render) => {
    const texts: string[] = [];
    for (const [count, type] of [
      [1, "incident.firing"],
      [5, "incident.resolved"],
      [300, "incident.firing"],
    ] as const) {
      texts.push(reviewable(`${count} ${type}`, await render(count, type)));
    }
    await expect(texts.join("\n")).toMatchFileSnapshot(`golden/${format}.txt`);
  },
);

it("messages about sandboxes are those that were reviewed", async () => {
  const servers = [
    ["github", 3],
    ["slack", 2],
    [null, 2],
  ] as const;
  const notification = composeOne(
    [
      outboxItem({
        rule: "sandbox-error",
        servers,
        incident: {
          id: incidentId(0),
          subject: "sandbox",
          sandboxId: server(0).sandboxId,
          serverId: null,
          serverName: null,
          benchmark: "MCP_Atlas",
        },
      }),
    ],
    startMs + 5_000,
  );
  const texts = Object.entries({
    webhook: webhookBody(notification, startMs, externalUrl),
    "webhook-alertmanager": alertmanagerBody(notification, startMs, externalUrl),
    slack: slackMessage(notification, startMs, externalUrl),
    pagerduty: pagerdutyEvent("0".repeat(32), "trigger", "key", notification, startMs),
  }).map(([format, body]) => reviewable(format, body));
  await expect(texts.join("\n")).toMatchFileSnapshot("golden/sandboxes.txt");
});

const sender = {
  from: { name: "sandwatch", address: "sandwatch@example.com" },
  to: ["planners@example.com"],
};
const template = { text: "{{ type }} {{ rule }}: {{ summary }}\n{{ report }}\n{{ url }}" };

/** Those of types that take reports. */
const reportFormats: Readonly<Record<string, (report: Notification) => unknown>> = {
  webhook: (report) => webhookBody(report, startMs, externalUrl),
  "webhook-body": (report) => compileBody(template)(report, startMs, externalUrl).body,
  slack: (report) => slackMessage(report, startMs, externalUrl),
  discord: (report) => discordMessage(report, startMs, externalUrl),
  teams: (report) => teamsMessage(report, startMs, externalUrl),
  telegram: (report) => telegramMessage(report, startMs, externalUrl),
  ntfy: (report) => ntfyMessage(report, startMs, externalUrl),
  email: (report) => emailOf(sender, report, startMs, externalUrl),
};

it.each(Object.entries(reportFormats))(
  "reports of %s are those that were reviewed",
  async (format, render) => {
    const texts = [reportOf(0), reportOf(3), reportOf(100, 200)].map((report) => {
      const { length } = report.report?.rows ?? [];
      return reviewable(`${length + report.truncated} rows`, render(report));
    });
    await expect(texts.join("\n")).toMatchFileSnapshot(`golden/report-${format}.txt`);
  },
);
