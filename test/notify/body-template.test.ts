import { describe, expect, it, onTestFinished, vi } from "vitest";
import { bodyVariables, incidentVariables } from "../../src/alerts/template.ts";
import { templateFault } from "../../src/lib/liquid.ts";
import { Secret } from "../../src/lib/secret.ts";
import { compileBody } from "../../src/notify/receivers/body-template.ts";
import { createWebhookReceiver } from "../../src/notify/receivers/webhook.ts";
import { createFakeClock } from "../support/fake-clock.ts";
import { plainWebhook } from "./support/delivery.ts";
import { incidentOf, startMs } from "./support/items.ts";
import { everySubject, notificationOf } from "./support/notifications.ts";
import { openOutbound } from "./support/outbound.ts";
import { startReceiverServer } from "./support/receiver-server.ts";

const fill = (text: string, more: Parameters<typeof notificationOf>[0] = {}, nowMs = startMs) =>
  compileBody(text)(notificationOf(more), nowMs).body;

async function sent(bodyTemplate: object, more: Parameters<typeof notificationOf>[0] = {}) {
  const server = await startReceiverServer();
  const clock = createFakeClock();
  const deps = { clock, outbound: openOutbound(clock) };
  const settings = { ...plainWebhook, name: "oncall", url: server.url };
  const text = new Secret(JSON.stringify(bodyTemplate));
  const receiver = createWebhookReceiver({ ...settings, bodyTemplate: text }, deps);
  const begin = process.threadCpuUsage();
  const result = await receiver.send(notificationOf(more), new AbortController().signal);
  // Of the processor: a busy machine makes nothing costly.
  expect(process.threadCpuUsage(begin).user / 1_000).toBeLessThan(5_000);
  return { result, bodies: server.requests.map(({ body }) => JSON.parse(body)) };
}

const replaced = {
  kind: "delivered",
  note: "a template of the body exceeded its limits: the summary was sent in place of its text",
};

describe("a template of a body", () => {
  it("has a value for every variable, whatever the incidents are about", () => {
    const ofMessage = bodyVariables.map((name) => `{{ ${name} }}`).join("|");
    const ofIncident = incidentVariables.map((name) => `{{ i.${name} }}`).join("|");
    const whole = `${ofMessage}{% for i in incidents %}${ofIncident}{% endfor %}`;
    expect(templateFault(whole, { variables: bodyVariables, fields: incidentVariables })).toBe(
      null,
    );
    expect(() => fill(whole, { incidents: everySubject })).not.toThrow();
    const simple = ofMessage.replace("{{ incidents }}|", "").replace("|{{ labels }}", "");
    expect(fill(simple)).toBe(
      "incident.firing|msg_1|1 github server in error in us/research since 09:30 UTC|||1|server-error|critical|" +
        "us|research|sandbox-1|server-1|github|||error|occupied|0|0|",
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
    "{% assign a = '0123456789' %}{% for i in (1..24) %}{% capture a %}{{ a }}{{ a }}{% endcapture %}{% endfor %}{{ a | size }}",
    "{% for i in (1..9000) %}{% for j in (1..9000) %}{% endfor %}{% endfor %}",
    `{% for i in (1..9000) %}{{ id }}${"x".repeat(60_000)}{% endfor %}`,
    "{% for i in (1..9000) %}{% for j in (1..90) %}{% if i == j %}{% cycle 'a', 'b' %}{% endif %}{% endfor %}{% endfor %}",
    "{% tablerow i in (1..9000) %}{% for j in (1..9000) %}x{% endfor %}{% endtablerow %}",
    "{% for i in (1..9000) %}{{ incidents | where_exp: 'each', 'each.id contains rule' | size }}{% endfor %}",
    "{% for i in (1..9000) %}{{ incidents | sum: 'count' }}{% if incidents contains rule %}{% endif %}{% endfor %}",
    "{% assign a = 'x' %}{% for i in (1..19) %}{% assign a = a | append: a %}{% endfor %}{% for i in (1..9000) %}{% if a contains 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxy' %}{% endif %}{% endfor %}",
    "{{ incidents.first.nothing }}",
    ...[
      `{% if ${"nil or ".repeat(5_000)}nil %}{% endif %}`,
      `{% if ${"not ".repeat(5_000)}nil %}{% endif %}`,
      `{% if nil %}${"{% elsif nil %}".repeat(3_000)}{% endif %}`,
      `{% case rule %}{% when ${"id, ".repeat(9_000)}id %}{% endcase %}`,
      `{% assign a = rule | concat: ${"id, ".repeat(9_000)}id %}`,
    ].map((text) => `{% for i in (1..1000) %}${text}{% endfor %}`),
  ])("that takes too much work is replaced by the summary: %.200s", async (text) => {
    const body = { channel: "#oncall", rule: "{{ rule }}", text };
    const incidents = Array.from({ length: 100 }, (_, at) => incidentOf({ id: `incident-${at}` }));
    const { result, bodies } = await sent(body, { incidents });
    expect(result).toEqual(replaced);
    const summary = "1 github server in error in us/research since 09:30 UTC";
    expect(bodies).toEqual([{ channel: "#oncall", rule: "server-error", text: summary }]);
  });

  it("that makes the body longer than 1 MiB is replaced by the summary", async () => {
    const incidents = Array.from({ length: 5_000 }, (_, at) =>
      incidentOf({ id: `incident-${at}` }),
    );
    const text = `{% for i in incidents %}${"x".repeat(220)}{% endfor %}`;
    const { result, bodies } = await sent({ first: "{{ rule }}", text }, { incidents });
    expect(result).toEqual(replaced);
    expect(bodies).toEqual([{ first: "server-error", text: notificationOf().summary }]);
  });

  it("of which many texts make the body longer than 1 MiB is not sent", async () => {
    const text = "x".repeat(9_000);
    const body = Object.fromEntries(Array.from({ length: 130 }, (_, at) => [`field-${at}`, text]));
    const { result, bodies } = await sent(body);
    expect(result).toMatchObject({
      kind: "failed",
      reason: "rejected",
      detail: "the body is longer than 1 MiB",
    });
    expect(bodies).toEqual([]);
  });

  it("names 5,000 incidents, however long that takes", async () => {
    const clock = vi.spyOn(performance, "now");
    let nowMs = 0;
    clock.mockImplementation(() => (nowMs += 1_000));
    onTestFinished(() => clock.mockRestore());
    const incidents = Array.from({ length: 5_000 }, (_, at) =>
      incidentOf({ id: `incident-${at}` }),
    );
    const text = fill("{% for i in incidents %}{{ i.id }} {{ i.region }}, {% endfor %}", {
      incidents,
    });
    expect(text).toMatch(/^incident-0 us, .* incident-4999 us, $/);
  });
});
