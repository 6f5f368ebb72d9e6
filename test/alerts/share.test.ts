import { expect, it } from "vitest";
import type { NotifiedIncident, OutboxItem } from "../../src/alerts/notification.ts";
import { summarize } from "../../src/alerts/notification-summary.ts";
import { createWatch, serverRule, showing } from "./support/watch.ts";
import { outboxItem, startMs } from "../notify/support/items.ts";

/** An incident, with how many of how many were in error when it was observed. */
function of(
  count: number,
  total: number,
  incident: Partial<NotifiedIncident> = {},
  type: OutboxItem["type"] = "incident.firing",
) {
  return outboxItem({ type, incident, share: { count, total, atMs: startMs + count } });
}

const second = { id: "incident-2", serverName: "git" };
const inEurope = { id: "e", region: "eu" };
const sandbox = (id: string) =>
  ({ id, subject: "sandbox", sandboxId: id, serverId: null, serverName: null }) as const;

it.each<[summary: string, ...items: OutboxItem[]]>([
  [
    "2 of 50 servers in error in us/research since 09:30 UTC (2 min): github, git",
    of(1, 50),
    of(2, 50, second),
  ],
  [
    "2 servers in error in us/research since 09:30 UTC (2 min): github, git; 1,045 of 1,050 servers in error",
    of(1_045, 1_050),
    of(1_045, 1_050, second),
  ],
  [
    "Still: 1 github server in error in us/research since 09:30 UTC (2 min); 1 of 50 servers in error",
    of(1, 50, {}, "incident.reminder"),
  ],
  [
    "2 github servers in error in 2 regions (research) since 09:30 UTC (2 min); 4 of 90 servers in error",
    of(1, 50),
    of(3, 40, inEurope),
  ],
  [
    "2 of 9 sandboxes in error in us/research since 09:30 UTC (2 min)",
    of(2, 9, sandbox("a")),
    of(2, 9, sandbox("b")),
  ],
  ["1 github server in error in us/research since 09:30 UTC (2 min)", of(1, 1)],
  [
    "Resolved after 1 min: 1 github server in error in us/research",
    of(1, 50, {}, "incident.resolved"),
  ],
])("a message says how many of how many have the status: %s", (summary, ...items) => {
  expect(summarize(items, startMs + 120_000)).toBe(summary);
});

it.each([
  [{}, { count: 2, total: 5 }],
  [{ serverName: ["git*"] }, { count: 2, total: 4 }],
  [{ tag: ["beta"] }, { count: 1, total: 2 }],
])("a rule that matches %j counts what it concerns", (match, share) => {
  const watch = createWatch({ rules: [serverRule({ match })] });
  watch.see(
    showing("error", "a", { name: "github", tags: ["beta"] }),
    showing("error", "b", { name: "gitlab", tags: [] }),
    showing("idle", "c", { name: "github", tags: ["beta"] }),
    showing("idle", "d", { name: "gitlab", tags: [] }),
    showing("occupied", "e", { name: "slack", tags: [] }),
  );
  expect(watch.outbox[0]?.share).toMatchObject(share);
});
