import { describe, expect, it } from "vitest";
import { Webhook } from "standardwebhooks";
import { parseConfig } from "../../src/config/load-config.ts";
import { configOf, faultLines, signingSecret, urlOf, webhookOf } from "./support.ts";

const regions = {
  us: { base_url: "https://us.example.com/" },
  eu: { base_url: "https://eu.example.com/api" },
};
const smallest = { regions, keys: [{ name: "research", api_key: "k1" }] };
const oncall = { name: "oncall", type: "webhook", url: "https://hooks.example.com/x" };

describe("defaults", () => {
  it("stand for all that the smallest configuration leaves out", () => {
    const config = configOf(parseConfig(smallest));
    expect(config).toMatchObject({
      poll: {
        schedule: { kind: "cron", expression: "*/30 * * * * *", timeZone: "UTC" },
        timeoutMs: 10_000,
        rateLimit: { requests: 2, perMs: 1_000 },
        maxBodyBytes: 67_108_864,
        staleAfter: 3,
        goneAfter: 2,
      },
      store: { path: "data/sandwatch.db" },
      history: {
        changes: 400 * 86_400_000,
        buckets: { "5m": 30 * 86_400_000, "1h": 400 * 86_400_000, "1d": null },
      },
      http: { host: "127.0.0.1", port: 9740 },
      log: { level: "info", format: "json" },
      metrics: { perServer: true },
      alerts: { receivers: [] },
    });
    expect([...config.regions]).toStrictEqual([
      ["us", { baseUrl: "https://us.example.com" }],
      ["eu", { baseUrl: "https://eu.example.com/api" }],
    ]);
  });

  it("give a key every region", () => {
    const [key] = configOf(parseConfig(smallest)).keys;
    expect(key?.regions).toStrictEqual(["us", "eu"]);
    expect(key?.apiKey.reveal()).toBe("k1");
  });

  it("give way to the regions that a key names", () => {
    const keys = [{ name: "research", api_key: "k1", regions: ["eu"] }];
    expect(configOf(parseConfig({ regions, keys })).keys[0]?.regions).toStrictEqual(["eu"]);
  });

  it("alert every receiver of servers in error and of targets that cannot be seen", () => {
    const { rules } = configOf(
      parseConfig({ ...smallest, alerts: { receivers: [oncall, { ...oncall, name: "desk" }] } }),
    ).alerts;
    const common = {
      keepFiringForMs: 0,
      remindEveryMs: null,
      receivers: ["oncall", "desk"],
      match: {},
      summaryTemplate: null,
      runbookUrlTemplate: null,
    };
    expect(rules).toStrictEqual([
      {
        ...common,
        name: "server-error",
        on: "server",
        status: "error",
        for: { kind: "duration", ms: 0 },
        flap: null,
        severity: "critical",
      },
      {
        ...common,
        name: "target-down",
        on: "target",
        trouble: "failing",
        for: { kind: "polls", polls: 3 },
        severity: "warning",
      },
      {
        ...common,
        name: "target-partial",
        on: "target",
        trouble: "partial",
        for: { kind: "polls", polls: 10 },
        severity: "warning",
      },
    ]);
  });

  it("give no rule where the list of rules is empty", () => {
    expect(configOf(parseConfig({ ...smallest, alerts: { rules: [] } })).alerts.rules).toEqual([]);
  });

  it("take the log's format from the caller", () => {
    expect(configOf(parseConfig(smallest, { logFormat: "pretty" })).log.format).toBe("pretty");
    const chosen = { ...smallest, log: { format: "json" } };
    expect(configOf(parseConfig(chosen, { logFormat: "pretty" })).log.format).toBe("json");
  });

  it("send to a receiver unsigned, grouped by rule, region and key", () => {
    const { receivers } = configOf(
      parseConfig({ ...smallest, alerts: { receivers: [oncall] } }),
    ).alerts;
    expect(receivers).toMatchObject([
      {
        name: "oncall",
        type: "webhook",
        secret: null,
        groupBy: ["rule", "region", "key"],
        groupWaitMs: 5_000,
        groupIntervalMs: 5_000,
        mergeAbove: 20,
        sendResolved: true,
        sendAcknowledged: false,
        maxIncidents: 100,
        giveUpAfterMs: 24 * 60 * 60 * 1_000,
      },
    ]);
    expect(urlOf(receivers[0])).toBe("https://hooks.example.com/x");
  });
});

describe("rules", () => {
  const parseRule = (rule: object) =>
    configOf(parseConfig({ ...smallest, alerts: { rules: [rule], receivers: [oncall] } })).alerts
      .rules[0];

  it("on servers are read whole", () => {
    expect(
      parseRule({
        name: "stuck",
        on: "server",
        status: "occupied",
        for: "1h30m",
        keep_firing_for: "5m",
        match: {
          region: "us",
          key: ["research", "x*"],
          server_name: ["git*"],
          tag: "prod",
          benchmark: "*",
        },
        severity: "info",
        remind_every: "4h",
        flap: { changes: 4, within: "10m" },
        summary: "{server_name} is stuck",
        runbook_url: "https://runbooks.example.com/{rule}",
        receivers: [],
      }),
    ).toStrictEqual({
      name: "stuck",
      on: "server",
      status: "occupied",
      for: { kind: "duration", ms: 5_400_000 },
      keepFiringForMs: 300_000,
      match: {
        region: ["us"],
        key: ["research", "x*"],
        serverName: ["git*"],
        tag: ["prod"],
        benchmark: ["*"],
      },
      severity: "info",
      remindEveryMs: 14_400_000,
      flap: { changes: 4, withinMs: 600_000 },
      summaryTemplate: "{server_name} is stuck",
      runbookUrlTemplate: "https://runbooks.example.com/{rule}",
      receivers: [],
    });
  });

  it("on pools are read whole, and pool by region and key where they do not say", () => {
    const rule = { name: "full", on: "pool", occupied_ratio: { above: 0.9 } };
    const more = { by: ["server_name"], for: "10m", match: { server_name: "git*" } };
    expect(parseRule({ ...rule, ...more })).toStrictEqual({
      name: "full",
      on: "pool",
      by: ["server_name"],
      measure: "occupied_ratio",
      side: "above",
      limit: 0.9,
      forMs: 600_000,
      match: { serverName: ["git*"] },
      severity: "warning",
      keepFiringForMs: 0,
      remindEveryMs: null,
      receivers: ["oncall"],
      summaryTemplate: null,
      runbookUrlTemplate: null,
    });
    expect(parseRule(rule)).toMatchObject({ by: ["region", "key"] });
    expect(parseRule({ ...rule, by: [] })).toMatchObject({ by: [] });
  });

  it("hold for a number of polls as well as for a time", () => {
    expect(
      parseRule({ name: "a", on: "server", status: "error", for: { polls: 2 } }),
    ).toMatchObject({
      for: { kind: "polls", polls: 2 },
    });
    expect(parseRule({ name: "a", on: "target", failing: "5m" })).toMatchObject({
      trouble: "failing",
      for: { kind: "duration", ms: 300_000 },
      severity: "warning",
    });
    expect(parseRule({ name: "a", on: "target", auth: { polls: 1 } })).toMatchObject({
      trouble: "auth",
      for: { kind: "polls", polls: 1 },
    });
    expect(parseRule({ name: "a", on: "target", partial: { polls: 10 } })).toMatchObject({
      trouble: "partial",
      for: { kind: "polls", polls: 10 },
    });
    expect(parseRule({ name: "a", on: "server", status: "error", for: 0 })).toMatchObject({
      for: { kind: "duration", ms: 0 },
      severity: "critical",
    });
  });
});

describe("single settings", () => {
  it("poll at plain intervals instead of a cron expression", () => {
    expect(
      configOf(parseConfig({ ...smallest, poll: { every: "45s" } })).poll.schedule,
    ).toStrictEqual({ kind: "every", ms: 45_000 });
  });

  it.each([
    ["on", true],
    ["off", false],
    [true, true],
    [false, false],
    ["true", true],
  ])("per_server: %j is %j", (perServer, expected) => {
    const loaded = parseConfig({ ...smallest, metrics: { per_server: perServer } });
    expect(configOf(loaded).metrics.perServer).toBe(expected);
  });

  it("take numbers as text, which is what variables hold", () => {
    const config = configOf(
      parseConfig({ ...smallest, poll: { stale_after: "5", rate_limit: { requests: "7" } } }),
    );
    expect(config.poll.staleAfter).toBe(5);
    expect(config.poll.rateLimit).toStrictEqual({ requests: 7, perMs: 1_000 });
  });

  it.each([
    "http://localhost:1/x",
    "http://127.8.0.1/x",
    "http://[::1]:8080",
    "http://a.localhost",
  ])("let %s go without encryption", (address) => {
    const loaded = parseConfig({
      ...smallest,
      regions: { us: { base_url: address } },
      alerts: { receivers: [{ ...oncall, url: address }] },
    });
    expect(faultLines(loaded)).toEqual([]);
  });

  it("let any address go without encryption where the user says so", () => {
    const loaded = parseConfig({
      ...smallest,
      regions: { us: { base_url: "http://us.example.com", allow_http: true } },
      alerts: { receivers: [{ ...oncall, url: "http://hooks.example.com", allow_http: "on" }] },
    });
    expect(faultLines(loaded)).toEqual([]);
  });

  it.each([signingSecret, signingSecret.slice("whsec_".length)])(
    "accept only signing secrets that can sign",
    (secret) => {
      const loaded = parseConfig({ ...smallest, alerts: { receivers: [{ ...oncall, secret }] } });
      const accepted = webhookOf(configOf(loaded)).secret;
      const webhook = new Webhook(accepted?.reveal() ?? "");
      expect(webhook.sign("id", new Date(0), "body")).toMatch(/^v1,/);
    },
  );
});
