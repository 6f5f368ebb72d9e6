import { describe, expect, it } from "vitest";
import { bodyPlaceholders, fillBody, isBodyText } from "../../src/alerts/template.ts";
import type { Notification } from "../../src/alerts/notification.ts";
import { startMs, toldIncident } from "../notify/support/items.ts";
import { notificationOf } from "../notify/support/notifications.ts";

function filled(text: string, more: Partial<Notification> = {}, nowMs = startMs): unknown {
  return fillBody(text, notificationOf(more), nowMs);
}

describe("a placeholder of a body", () => {
  it.each([
    ["{type}", "incident.firing"],
    ["{id}", "msg_1"],
    ["{summary}", "1 server in error in us (research): github"],
    ["{runbook_url}", ""],
    ["{count}", "1"],
    ["{rule}", "server-error"],
    ["{severity}", "critical"],
    ["{region}", "us"],
    ["{key}", "research"],
    ["{sandbox_id}", "sandbox-1"],
    ["{server_id}", "server-1"],
    ["{server_name}", "github"],
    ["{probe}", ""],
    ["{status}", "error"],
    ["{previous_status}", "occupied"],
  ])("%s stands for %j", (text, value) => {
    expect(filled(text)).toBe(value);
  });

  it("is each one that there is", () => {
    for (const name of bodyPlaceholders) {
      expect(filled(`{${name}}`)).not.toContain("{");
      expect(isBodyText(`a {${name}} b`)).toBe(true);
    }
  });

  it.each(["{sumary}", "{}", "{ summary }", "{condition}", "{{sumary}}"])("is not %s", (text) => {
    expect(isBodyText(text)).toBe(false);
  });

  it.each(["", "no placeholder", "{", "}{", "{{summary}}"])("may be absent: %j", (text) => {
    expect(isBodyText(text)).toBe(true);
  });

  it("names a few values where incidents differ, and counts those that were left out", () => {
    const incidents = ["a", "b", "c", "d", "d"].map((serverName) => toldIncident({ serverName }));
    const more = { incidents, truncated: 10 };
    expect(filled("{count}: {server_name} in {region}", more)).toBe("15: a, b, c and 1 more in us");
  });

  it("is not looked for in what another one brought", () => {
    const incidents = [toldIncident({ serverName: "{severity}" })];
    expect(filled("{server_name}", { incidents })).toBe("{severity}");
  });

  it("says that the message is late", () => {
    expect(filled("{summary}", {}, startMs + 3_600_000)).toMatch(/^Late by 1h: /);
  });
});
