import { describe, expect, it } from "vitest";
import type { z } from "zod";
import type { Notification } from "../../src/core/notification.ts";
import { renderAlertmanagerBody } from "../../src/notify/receivers/alertmanager-body.ts";
import { alertmanagerMessageSchema } from "./support/alertmanager-message.ts";
import { startMs, toldIncident } from "./support/items.ts";
import { everySubject, hostileTexts, notificationOf } from "./support/notifications.ts";
import { resolvedIncident, textsIn, unsendable } from "./support/notifications.ts";

type Message = z.infer<typeof alertmanagerMessageSchema>;

function messageOf(more: Partial<Notification> = {}, nowMs = startMs): Message {
  const text = renderAlertmanagerBody(notificationOf(more), nowMs);
  return alertmanagerMessageSchema.parse(JSON.parse(text));
}

describe("a message in Alertmanager's form", () => {
  it("has what Alertmanager's version 4 has", () => {
    const runbookUrl = "https://runbooks.example/errors";
    const labels = {
      alertname: "server-error",
      severity: "critical",
      subject: "server",
      region: "us",
      key: "research",
      sandbox_id: "sandbox-1",
      server_id: "server-1",
      server_name: "github",
    };
    const annotations = {
      summary: "1 server in error in us (research): github",
      description: "github (server-1) in sandbox sandbox-1 in us (research): error, was occupied",
      runbook_url: runbookUrl,
      incident_id: "incident-1",
      status: "error",
      previous_status: "occupied",
    };
    expect(messageOf({ runbookUrl, truncated: 3 })).toEqual({
      version: "4",
      groupKey: '{}:{alertname="server-error", key="research", region="us", severity="critical"}',
      truncatedAlerts: 3,
      status: "firing",
      receiver: "oncall",
      groupLabels: { alertname: "server-error", region: "us", key: "research" },
      commonLabels: labels,
      commonAnnotations: annotations,
      externalURL: "",
      alerts: [
        {
          status: "firing",
          labels,
          annotations,
          startsAt: "2026-11-20T09:30:00.000Z",
          endsAt: "0001-01-01T00:00:00Z",
          generatorURL: "",
          fingerprint: expect.stringMatching(/^[0-9a-f]{16}$/),
        },
      ],
    });
  });

  it("is resolved when its incidents are, each with its end", () => {
    const message = messageOf({ type: "incident.resolved", incidents: [resolvedIncident()] });
    expect(message.status).toBe("resolved");
    expect(message.alerts[0]).toMatchObject({
      status: "resolved",
      endsAt: "2026-11-20T09:31:00.000Z",
      annotations: { resolved_reason: "recovered" },
    });
  });

  it("is firing while one of its incidents is", () => {
    const { status, alerts } = messageOf({ incidents: [resolvedIncident(), toldIncident()] });
    expect([status, ...alerts.map((alert) => alert.status)]).toEqual([
      "firing",
      "resolved",
      "firing",
    ]);
  });

  it("gives what lasts the same fingerprint, and other subjects others", () => {
    const prints = [
      toldIncident(),
      toldIncident({ id: "the next", serverId: "server-1", status: "unknown" }),
      resolvedIncident(),
      toldIncident({ serverId: "server-2" }),
    ].map((incident) => messageOf({ incidents: [incident] }).alerts[0]?.fingerprint);
    expect(prints[1]).toBe(prints[0]);
    expect(prints[2]).toBe(prints[0]);
    expect(prints[3]).not.toBe(prints[0]);
  });

  it("has in common what all of its alerts have, and no empty label", () => {
    const { alerts, commonLabels, commonAnnotations } = messageOf({ incidents: everySubject });
    expect(commonLabels).toEqual({ alertname: "server-error", severity: "critical" });
    expect(Object.keys(commonAnnotations)).not.toContain("incident");
    expect(alerts.find(({ labels }) => labels["subject"] === "receiver")?.labels).toEqual({
      alertname: "server-error",
      severity: "critical",
      subject: "receiver",
      receiver: "pager",
    });
  });

  it("says that it is late", () => {
    const { annotations } = messageOf({}, startMs + 600_000).alerts[0] ?? {};
    expect(annotations).toMatchObject({
      summary: "Late by 10m: 1 server in error in us (research): github",
      delayed_seconds: "600",
    });
  });

  it.each(hostileTexts)("keeps its form with a server named by %s", (_, name) => {
    const incidents = [toldIncident({ serverName: name, sandboxId: name, acknowledgedBy: name })];
    const message = messageOf({ incidents, group: { server_name: name, incident: "incident-1" } });
    expect(textsIn(message).filter((text) => unsendable.test(text))).toEqual([]);
    expect(JSON.stringify(message).length).toBeLessThan(20_000);
  });
});
