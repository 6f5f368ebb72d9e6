import { describe, expect, it } from "vitest";
import { bodyVariables, incidentVariables } from "../../src/alerts/template.ts";
import { templateFault } from "../../src/lib/liquid.ts";
import { Secret } from "../../src/lib/secret.ts";
import { failed } from "../../src/notify/receiver.ts";
import { compileBody } from "../../src/notify/receivers/body-template.ts";
import { createWebhookReceiver } from "../../src/notify/receivers/webhook.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { plainWebhook } from "./support/delivery.ts";
import { incidentOf, startMs } from "./support/items.ts";
import { everySubject, notificationOf } from "./support/notifications.ts";
import { openOutbound } from "./support/outbound.ts";
import { startReceiverServer } from "./support/receiver-server.ts";

const fill = (text: string, more: Parameters<typeof notificationOf>[0] = {}, nowMs = startMs) =>
  compileBody(text)(notificationOf(more), nowMs);

describe("a template of a body", () => {
  it("has a value for every variable, whatever the incidents are about", () => {
    const ofMessage = bodyVariables.map((name) => `{{ ${name} }}`).join("|");
    const ofIncident = incidentVariables.map((name) => `{{ i.${name} }}`).join("|");
    const whole = `${ofMessage}{% for i in incidents %}${ofIncident}{% endfor %}`;
    expect(templateFault(whole, { variables: bodyVariables, fields: incidentVariables })).toBe(
      null,
    );
    expect(() => fill(whole, { incidents: everySubject })).not.toThrow();
    const simple = ofMessage.replace("{{ incidents }}|", "");
    expect(fill(simple)).toBe(
      "incident.firing|msg_1|1 github server in error in us/research since 09:30 UTC|||1|server-error|critical|" +
        "us|research|sandbox-1|server-1|github||error|occupied|0|0|",
    );
    expect(fill("{{ summary }}", {}, startMs + 3_600_000)).toMatch(/^Late by 1h: /);
  });

  it("names a few values where incidents differ, and counts all", () => {
    const incidents = ["a", "b", "c", "{{ key }}", "a"].map((serverName) =>
      incidentOf({ serverName }),
    );
    const text = "{{ count }}: {{ server_name }} in {{ region }}";
    expect(fill(text, { incidents, truncated: 10 })).toBe("15: a, b, c and 1 more in us");
  });

  it("loops over incidents, and formats times in UTC", () => {
    const incidents = [incidentOf(), incidentOf({ id: "incident-2", serverName: null })];
    const text =
      "{% for i in incidents %}{{ i.id }} {{ i.server_name | default: i.server_id }} {{ i.started_at | date: '%H:%M' }}{% unless forloop.last %}; {% endunless %}{% endfor %}";
    expect(fill(text, { incidents })).toBe("incident-1 github 09:30; incident-2 server-2 09:30");
  });

  it.each([
    "{% for i in (1..1000000000) %}x{% endfor %}",
    "{% for i in (1..9000) %}{% for j in (1..9000) %}x{% endfor %}{% endfor %}",
    "{% assign a = '0123456789' %}{% for i in (1..40) %}{% assign a = a | append: a %}{% endfor %}{{ a }}",
    "{% for i in (1..2000) %}{{ '0123456789' | append: '0123456789' | prepend: '0123456789' | replace: '0', '0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890' }}{% endfor %}",
  ])("that takes too much is not sent, and the notification is dead-lettered: %s", async (text) => {
    const server = await startReceiverServer();
    const clock = createFakeClock();
    const receiver = createWebhookReceiver(
      {
        ...plainWebhook,
        name: "oncall",
        url: server.url,
        bodyTemplate: new Secret(JSON.stringify({ text })),
      },
      { clock, outbound: openOutbound(clock) },
    );
    const beginMs = performance.now();
    const result = await receiver.send(notificationOf(), new AbortController().signal);
    expect(result).toEqual(failed("rejected", "the template of the body exceeds its limits"));
    expect(performance.now() - beginMs).toBeLessThan(5_000);
    expect(server.requests).toEqual([]);
  });
});
