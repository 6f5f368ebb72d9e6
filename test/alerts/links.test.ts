import { describe, expect, it } from "vitest";
import { messageLinks, messageUrl } from "../../src/alerts/links.ts";
import type { Notification } from "../../src/alerts/notification.ts";
import { incidentOf } from "../notify/support/items.ts";
import { notificationOf, resolvedIncident } from "../notify/support/notifications.ts";

const base = "https://ops.example.com/sandwatch";

function linksOf(more: Partial<Notification> = {}): readonly string[] {
  const notification = notificationOf(more);
  const links = messageLinks(base, notification);
  expect(links[0]?.url).toBe(messageUrl(base, notification));
  return links.map(({ text, url }) => `${text} ${url.replace(base, "")}`);
}

const other = (more: object = {}) => incidentOf({ id: "incident-2", ...more });

describe("the links of a message", () => {
  it("about one incident lead to its pages, as far as there is something to do", () => {
    const [page, acknowledge, silence] = [
      "Incident /incidents/incident-1",
      "Acknowledge /incidents/incident-1/acknowledge",
      "Silence /incidents/incident-1/silence",
    ];
    expect(linksOf()).toEqual([page, acknowledge, silence]);
    expect(linksOf({ type: "incident.reminder" })).toEqual([page, acknowledge, silence]);
    const undo = "Unacknowledge /incidents/incident-1/unacknowledge";
    expect(linksOf({ type: "incident.acknowledged" })).toEqual([page, silence, undo]);
    const incidents = [resolvedIncident()];
    expect(linksOf({ type: "incident.resolved", incidents })).toEqual([page]);
    expect(linksOf({ type: "test" })).toEqual(["sandwatch /"]);
  });

  it.each([
    ["rule, region and key", other(), {}, "rule=server-error&region=us&key=research"],
    ["rule and region", other({ key: "production" }), {}, "rule=server-error&region=us"],
    ["rule and key", other({ region: "eu" }), {}, "rule=server-error&key=research"],
    ["rule", other({ region: null, key: null }), {}, "rule=server-error"],
    // Those that it does not name may be elsewhere.
    ["group", other(), { truncated: 1, group: { region: "us" } }, "rule=server-error&region=us"],
  ])("about several lead to those of their %s", (_, second, more, query) => {
    expect(linksOf({ incidents: [incidentOf(), second], ...more })).toEqual([
      `Incidents /incidents?${query}`,
      `Acknowledge /incidents/acknowledge?${query}`,
      `Silence /incidents/silence?${query}`,
    ]);
  });
});
