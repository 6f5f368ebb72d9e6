import { describe, expect, it } from "vitest";
import type { NotifiedIncident, OutboxItem } from "../../src/alerts/notification.ts";
import { outboxItem, startMs } from "../notify/support/items.ts";
import { compose } from "./support/compose.ts";

describe("many subjects of a region", () => {
  const merging = { groupIntervalMs: 60_000, mergeAbove: 4, maxIncidents: 3 };
  /** Servers, each of a key of its own. */
  const storm = (count: number, more: Partial<NotifiedIncident> = {}): OutboxItem[] =>
    Array.from({ length: count }, (_, n) =>
      outboxItem({ incident: { id: `${more.region}-${n}`, key: `key-${n}`, ...more } }),
    );

  it("are one message above the limit", () => {
    expect(compose(storm(4), merging).messages).toHaveLength(4);
    const { messages, times } = compose(storm(5), merging);
    expect(messages).toMatchObject([{ summary: "5 servers in error in us", truncated: 2 }]);
    expect(messages[0]?.group).toEqual({ region: "us" });
    expect(times.size).toBe(5);
  });

  it("are one message for each region, rule and severity", () => {
    const { messages } = compose(
      [
        ...storm(5),
        ...storm(5, { region: "eu" }),
        ...storm(5).map((item) => ({ ...item, rule: "stuck" })),
        ...storm(5).map((item) => ({ ...item, severity: "info" as const })),
      ],
      merging,
    );
    expect(messages.map(({ rule, severity, group }) => [rule, severity, group["region"]])).toEqual([
      ["server-error", "critical", "us"],
      ["server-error", "critical", "eu"],
      ["stuck", "critical", "us"],
      ["server-error", "info", "us"],
    ]);
  });

  it("are due when the first of them is, and notified for all of their groups", () => {
    const late = storm(5).map((item, n) => ({ ...item, causedAtMs: startMs + n * 1_000 }));
    expect(compose(late, merging, 4_999)).toMatchObject({ seqs: [], nextDueAfterMs: 5_000 });
    const { messages, times } = compose(late, merging);
    expect(messages).toHaveLength(1);
    const again = storm(1).map((item) => ({ ...item, causedAtMs: startMs + 6_000 }));
    expect(compose(again, merging, 64_999, times).nextDueAfterMs).toBe(65_000);
  });

  it.each([
    ["target", 1],
    ["probe", 1],
    ["pool", 5],
    ["receiver", 5],
  ] as const)("are merged or not by what they are: %s", (subject, count) => {
    const alike = storm(5, { subject, sandboxId: null, serverId: null });
    expect(compose(alike, merging).messages).toHaveLength(count);
  });

  it("are not merged where a receiver groups across regions anyway", () => {
    const both = storm(5).flatMap((item) => [
      item,
      { ...item, incident: { ...item.incident, id: `eu-${item.incident.id}`, region: "eu" } },
    ]);
    expect(compose(both, { ...merging, groupBy: ["rule", "key"] }).messages).toHaveLength(5);
  });
});

describe("the servers of a pool that is notified", () => {
  const servers = (region: string, serverName: string, count = 3, key = "research") =>
    Array.from({ length: count }, (_, n) =>
      outboxItem({ incident: { id: `${region}-${serverName}-${n}`, region, serverName, key } }),
    );
  const ofGithub = {
    subject: "pool",
    region: null,
    key: null,
    sandboxId: null,
    serverId: null,
    serverName: "github",
  } as const;
  const pool = (limits: Partial<NotifiedIncident> = {}) =>
    outboxItem({
      rule: "pool-failing",
      incident: { id: "pool", ...ofGithub, ...limits },
    });
  const byName = { mergeAbove: 4, groupBy: ["region", "server_name"] } as const;
  const both = [...servers("us", "github"), ...servers("eu", "github")];

  it("are one message, in whatever regions they are", () => {
    const { seqs, messages } = compose([...both, pool()], byName);
    expect(seqs).toEqual([[1, 2, 3, 4, 5, 6], [7]]);
    expect(messages[0]?.group).toEqual({ server_name: "github" });
  });

  it.each<[what: string, items: readonly OutboxItem[], sizes: readonly number[]]>([
    ["without the pool", both, [3, 3]],
    [
      "from those that are merged by region",
      [...both, ...servers("eu", "slack", 2), pool()],
      [3, 5, 1],
    ],
    [
      "by rule and severity",
      [
        ...both,
        ...both.map((item) => ({ ...item, rule: "stuck" })),
        ...both.map((item) => ({ ...item, severity: "info" as const })),
        pool(),
      ],
      [6, 6, 6, 1],
    ],
    [
      "up to the limit",
      [...servers("us", "github", 2), ...servers("eu", "github", 2), pool()],
      [2, 2, 1],
    ],
  ])("are apart %s", (_, items, sizes) => {
    expect(compose(items, byName).sizes).toEqual(sizes);
  });

  it.each<[Partial<NotifiedIncident>, readonly number[]]>([
    [{ key: "research", serverName: null }, [6, 1, 1, 1]],
    [{ serverName: "github" }, [6, 1, 1, 1]],
    [{ region: "us", serverName: null }, Array.from({ length: 9 }, () => 1)],
  ])("are apart from servers outside of a pool of %j", (limits, sizes) => {
    const others = ["us", "eu"].flatMap((region) => servers(region, "slack", 1, "batch"));
    const settings = { mergeAbove: 4, groupBy: ["incident"] } as const;
    expect(compose([...both, ...others, pool(limits)], settings).sizes).toEqual(sizes);
  });
});
