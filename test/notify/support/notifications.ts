import { expect } from "vitest";
import { composeMessages } from "../../../src/alerts/compose-messages.ts";
import type {
  Notification,
  NotifiedIncident,
  OutboxItem,
} from "../../../src/alerts/notification.ts";
import { reportLine, reportSummary } from "../../../src/api/figures.ts";
import { openZone, utc } from "../../../src/reports/zone.ts";
import { incidentOf, startMs } from "./items.ts";

/** One message about one firing server, unless the test says otherwise. */
export function notificationOf(more: Partial<Notification> = {}): Notification {
  return {
    id: "msg_1",
    receiver: "oncall",
    type: "incident.firing",
    rule: "server-error",
    severity: "critical",
    group: { region: "us", key: "research" },
    summary: "1 github server in error in us/research since 09:30 UTC",
    runbookUrl: null,
    createdAtMs: startMs,
    causedAtMs: startMs,
    incidents: [incidentOf()],
    truncated: 0,
    ...more,
  };
}

/** The one message that items are, with the default settings of a receiver. */
export function composeOne(
  items: readonly OutboxItem[],
  nowMs: number,
  maxIncidents = 20,
): Notification {
  const stored = items.map((item, index) => ({ ...item, seq: index + 1 }));
  const settings = {
    groupBy: ["rule", "region", "key"],
    groupWaitMs: 0,
    groupIntervalMs: 0,
    groupLimit: 5,
    maxIncidents,
  } as const;
  const { messages } = composeMessages(stored, settings, nowMs);
  expect(messages).toHaveLength(1);
  const [message] = messages;
  if (!message) throw new Error("no message");
  return { id: "msg_1", ...message.notification };
}

/** A report of last week by region and key: of the busiest rows, and of more than it shows. */
export function reportOf(rows: number, more = 0): Notification {
  const figures = (n: number, labels: object) => ({
    ...labels,
    occupied_share: (100 - n) / 125,
    error_share: n / 1_000,
    coverage: 0.995,
    occupied_peak: 48,
    occupied_peak_exact: n > 0,
    servers_peak: 50,
    headroom: 2,
    incidents: n,
  });
  const listed = Array.from({ length: rows }, (_, n) => figures(n, { region: "us", key: `k${n}` }));
  const range = { from: "2026-11-15T23:00:00.000Z", to: "2026-11-22T23:00:00.000Z" };
  const zone = openZone("Europe/Berlin") ?? utc;
  const notes = ["Hours of UTC stand for hours of Europe/Berlin."];
  const total = figures(0, {});
  return notificationOf({
    type: "report",
    rule: "weekly",
    severity: "info",
    group: {},
    summary: reportSummary("weekly", range, zone, total),
    incidents: [],
    truncated: more,
    report: {
      request: { ...range, tz: zone.name, by: "region,key", region: "us" },
      notes,
      total,
      rows: listed,
      lines: [...notes.map((note) => `Note: ${note}`), ...listed.map(reportLine)],
    },
  });
}

export function resolvedIncident(more: Partial<NotifiedIncident> = {}): NotifiedIncident {
  return incidentOf({
    state: "resolved",
    status: "idle",
    previousStatus: "error",
    resolvedAtMs: startMs + 60_000,
    resolvedReason: "recovered",
    ...more,
  });
}

/** Incidents of every kind of subject. */
export const everySubject: readonly NotifiedIncident[] = [
  incidentOf(),
  incidentOf({ serverName: null, previousStatus: "absent" }),
  resolvedIncident(),
  incidentOf({ subject: "sandbox", serverId: null, serverName: null, benchmark: "MCP_Atlas" }),
  ...(["target", "pool", "receiver"] as const).map((subject) =>
    incidentOf({
      subject,
      region: subject === "target" ? "us" : null,
      key: subject === "target" ? "research" : null,
      sandboxId: null,
      serverId: null,
      serverName: subject === "pool" ? "github" : null,
      status: null,
      previousStatus: null,
      receiver: subject === "receiver" ? "pager" : null,
    }),
  ),
];

/** What a service could call a server. */
export const hostileTexts: readonly (readonly [what: string, text: string])[] = [
  ["nothing", ""],
  ["a blank", " "],
  ["control characters", "\u0000\u0007\u001b[31m\u007f\u0085"],
  ["several lines", "line\r\nbreak\u2028separator\u2029"],
  ["orders to Slack", "<!channel> <@U012AB3CD> <https://evil.example|click> &lt; &amp;"],
  ["markup", "*bold* _italic_ ~gone~ `code` ```block``` > quote :smile: @here #general"],
  ["the end of a JSON text", '"}],"text":"injected","x":[{"\\'],
  ["text that runs backwards", "\u202Etxet desrever\u202C \u200B\uFEFF"],
  ["halves of surrogate pairs", "\uD800 tail \uDC00 \uDBFF"],
  ["100,000 code units of emoji", "😀".repeat(50_000)],
  ["100,000 ampersands", "&".repeat(100_000)],
  ["100,000 zeros", "\u0000".repeat(100_000)],
  ["placeholders", "{summary} ${HOME} {{id}}"],
  ["the name of a prototype", "__proto__"],
];

/** Texts that nothing sent may contain: control and format characters, halves of surrogate pairs. */
const unsendable = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

/** Every text in a JSON value, names of fields included. */
export function textsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, item]) => [name, ...textsIn(item)]);
}

/** Line breaks are meant. */
export function unsendableIn(value: unknown): readonly string[] {
  return textsIn(value).filter((text) => unsendable.test(text.replaceAll("\n", " ")));
}
