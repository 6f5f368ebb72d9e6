import { Webhook } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { configNotes } from "../../src/cli/check-config.ts";
import type { Config } from "../../src/config/config.ts";
import { parseConfig } from "../../src/config/load-config.ts";
import type { ReceiverConfig } from "../../src/config/schema-receivers.ts";
import { directRoute } from "../../src/lib/connector.ts";
import { parseNetwork } from "../../src/lib/networks.ts";
import { configOf, faultLines, receiverOf, signingSecret } from "./support.ts";

const regions = {
  us: { base_url: "https://us.example.com/" },
  eu: { base_url: "https://eu.example.com/api" },
};
const smallest = { regions, keys: [{ name: "research", api_key: "k1" }] };
const oncall = { name: "oncall", type: "webhook", url: "https://hooks.example.com/x" };
const dayMs = 24 * 60 * 60 * 1_000;

const parsed = (more: object = {}): Config => configOf(parseConfig({ ...smallest, ...more }));

describe("the smallest configuration", () => {
  it("has the default of each setting", () => {
    const config = parsed();
    expect(config).toMatchObject({
      poll: {
        schedule: { kind: "cron", expression: "*/30 * * * * *", timeZone: "UTC" },
        timeoutMs: 10_000,
        rateLimit: { requests: 2, perMs: 1_000 },
        maxBodyBytes: 67_108_864,
        staleAfter: 3,
        goneAfter: 2,
      },
      store: { path: "data/sandwatch.db", postgres: null },
      history: {
        changes: 400 * dayMs,
        rollups: { "15m": 400 * dayMs, "1h": 400 * dayMs, "1d": null },
        zones: ["UTC"],
      },
      http: { host: "127.0.0.1", port: 9740 },
      log: { level: "info", format: "json" },
      metrics: { perServer: true },
      alerts: {
        receivers: [],
        outbound: { networks: { deny: [], allow: null }, route: directRoute },
      },
    });
    expect([...config.regions]).toStrictEqual([
      ["us", { baseUrl: "https://us.example.com", route: directRoute }],
      ["eu", { baseUrl: "https://eu.example.com/api", route: directRoute }],
    ]);
    const [key] = config.keys;
    expect([key?.apiKey.reveal(), key?.regions]).toEqual(["k1", ["us", "eu"]]);
  });

  it("notifies every receiver but heartbeats of servers in error and of targets that are down", () => {
    const heartbeat = { name: "watchdog", type: "heartbeat", url: "https://hc.example.com/x" };
    const config = parsed({ alerts: { receivers: [oncall, heartbeat] } });
    const receivers = ["oncall"];
    const [error, ...others] = config.alerts.rules;
    const always = { kind: "duration", ms: 0 };
    expect(error).toMatchObject({ on: "server", severity: "critical", status: "error", receivers });
    expect(error).toMatchObject({ for: always, keepFiringForMs: 0, remindEveryMs: null });
    const inPolls = (polls: number) => ({ for: { kind: "polls", polls }, receivers });
    expect(others).toMatchObject([
      { ...error, name: "sandbox-error", on: "sandbox" },
      { on: "target", name: "key-refused", severity: "critical", trouble: "auth", ...inPolls(3) },
      { on: "target", name: "target-down", severity: "warning", trouble: "failing", ...inPolls(3) },
      { on: "target", name: "target-partial", trouble: "partial", ...inPolls(10) },
      { on: "region", name: "region-down", severity: "critical", ...inPolls(2) },
    ]);
    const flap = { changes: 1, withinMs: 3_600_000, firingOnly: true };
    expect([error, ...others].map((rule) => rule && "flap" in rule && rule.flap)).toEqual(
      Array.from({ length: 6 }, () => flap),
    );
    expect(configNotes(config)).toEqual([]);
    const alone = parsed({ alerts: { receivers: [heartbeat] } });
    expect(configNotes(alone)).toEqual(["no receivers are configured, so nobody is notified"]);
    expect(parsed({ alerts: { rules: [] } }).alerts.rules).toEqual([]);
  });
});

describe("rules", () => {
  const ruleOf = (rule: object) =>
    parsed({
      probes: [{ name: "login", operation: "universes" }],
      alerts: { rules: [rule], receivers: [oncall] },
    }).alerts.rules[0];

  it("on servers are read whole", () => {
    const names = { region: "us", key: ["research", "x*"], tag: "prod", benchmark: "*" };
    const flap = { changes: 4, within: "10m" };
    const common = { name: "stuck", on: "server", status: "occupied", severity: "info" };
    const times = { for: "1h30m", keep_firing_for: "5m", remind_every: "4h" };
    const texts = { summary: "{server_name} is stuck", runbook_url: "https://a.example/{rule}" };
    const match = { ...names, server_name: ["git*"] };
    expect(ruleOf({ ...common, ...times, ...texts, flap, match, receivers: [] })).toStrictEqual({
      ...common,
      for: { kind: "duration", ms: 5_400_000 },
      keepFiringForMs: 300_000,
      remindEveryMs: 14_400_000,
      flap: { changes: 4, withinMs: 600_000, firingOnly: false },
      match: {
        region: ["us"],
        key: ["research", "x*"],
        serverName: ["git*"],
        tag: ["prod"],
        benchmark: ["*"],
      },
      summaryTemplate: "{server_name} is stuck",
      runbookUrlTemplate: "https://a.example/{rule}",
      receivers: [],
      escalation: [],
    });
  });

  it("on pools are read whole, and pool by region and key by default", () => {
    const rule = { name: "full", on: "pool", occupied_ratio: { above: 0.9 } };
    const more = { by: ["server_name"], for: "10m", match: { server_name: "git*" } };
    const match = { serverName: ["git*"] };
    const limit = { measure: "occupied_ratio", side: "above", limit: 0.9 };
    const read = { by: ["server_name"], ...limit, forMs: 600_000, match, severity: "warning" };
    expect(ruleOf({ ...rule, ...more })).toMatchObject(read);
    expect(ruleOf(rule)).toMatchObject({ by: ["region", "key"] });
    expect(ruleOf({ ...rule, by: "region" })).toMatchObject({ by: ["region"] });
    expect(ruleOf({ ...rule, by: [] })).toMatchObject({ by: [] });
  });

  const error = { on: "server", status: "error" };
  it.each([
    [{ ...error, for: { polls: 2 } }, { for: { kind: "polls", polls: 2 } }],
    [{ ...error, for: 0 }, { for: { kind: "duration", ms: 0 } }],
    [{ on: "target", failing: "5m" }, { for: { kind: "duration", ms: 300_000 } }],
    [{ on: "target", auth: { polls: "1" } }, { for: { kind: "polls", polls: 1 } }],
    [
      { on: "probe", failing: { polls: 3 }, match: { probe: "log*", region: ["us"] } },
      { for: { kind: "polls", polls: 3 }, match: { probe: ["log*"], region: ["us"] } },
    ],
  ])("hold for polls as well as for a time: %j", (rule, read) => {
    expect(ruleOf({ name: "a", ...rule })).toMatchObject(read);
  });
});

describe("probes", () => {
  const user = { name: "login", operation: "user", id: "user-1" };
  const keys = [...smallest.keys, { name: "evals", api_key: "k2", regions: ["eu"] }];
  const probeOf = (more: object) => parsed({ keys, probes: [{ ...user, ...more }] }).probes[0];

  it("run every minute, with every key in its regions, and expect a response by default", () => {
    const inEu = { region: "eu", key: "evals" };
    expect(probeOf({})).toEqual({
      name: "login",
      operation: "get_user",
      id: "user-1",
      targets: [{ region: "us", key: "research" }, { region: "eu", key: "research" }, inEu],
      schedule: { kind: "every", ms: 60_000 },
      expect: { status: 200, success: null, atLeast: null, fields: [] },
    });
    const probe = probeOf({ regions: ["us", "eu"], keys: ["evals"] });
    expect(probe).toMatchObject({ targets: [inEu] });
  });

  it("take each form of an expectation", () => {
    const present = { g: { present: true }, h: { absent: true } };
    const fields = { "a.b\\.c": "x", d: 1.5, e: false, f: null, ...present };
    expect(probeOf({ expect: { fields } })?.expect.fields).toEqual([
      { path: ["a", "b.c"], must: { be: "equal", to: "x" } },
      { path: ["d"], must: { be: "equal", to: 1.5 } },
      { path: ["e"], must: { be: "equal", to: false } },
      { path: ["f"], must: { be: "equal", to: null } },
      { path: ["g"], must: { be: "present" } },
      { path: ["h"], must: { be: "absent" } },
    ]);
  });

  it.each([
    [{}, 200, true],
    [{ success: false }, 200, false],
    [{ status: "404" }, 404, null],
  ])("of a white label expect that there is one by default: %j", (expected, status, success) => {
    const probe = probeOf({ operation: "white-label", expect: expected });
    expect(probe?.expect).toMatchObject({ status, success });
  });
});

describe("receivers", () => {
  const receiver = <Type extends ReceiverConfig["type"]>(type: Type, settings: object = {}) =>
    receiverOf(type, parsed({ alerts: { receivers: [{ ...oncall, type, ...settings }] } }));
  const grouped = {
    groupBy: ["rule", "region", "key"],
    groupWaitMs: 5_000,
    groupIntervalMs: 5_000,
    groupLimit: 5,
    sendResolved: true,
    giveUpAfterMs: dayMs,
  };

  it("of each type group, and send, as their type does by default", () => {
    const webhook = receiver("webhook");
    const own = { secret: null, format: "sandwatch", bodyTemplate: null, maxIncidents: 100 };
    expect(webhook).toMatchObject({ ...grouped, ...own, sendAcknowledged: false });
    expect(webhook.url.reveal()).toBe(oncall.url);
    const slack = { ...grouped, sendAcknowledged: true, maxIncidents: 20 };
    expect(receiver("slack")).toMatchObject(slack);
    const pagerduty = receiver("pagerduty", { url: undefined, routing_key: "0".repeat(32) });
    const alone = { groupBy: ["region", "key"], groupLimit: Infinity, maxIncidents: 100 };
    const atOnce = { groupWaitMs: 0, groupIntervalMs: 0 };
    const all = { sendResolved: true, sendAcknowledged: true };
    expect(pagerduty).toMatchObject({ ...alone, ...atOnce, ...all });
    expect(pagerduty.url.reveal()).toBe("https://events.pagerduty.com/v2/enqueue");
    expect(receiver("heartbeat")).toMatchObject({ everyMs: 60_000, method: "GET" });
  });

  it("of type webhook take a body of the user's own, as a mapping or a list", () => {
    const mapping = { text: "{{ summary }}", more: ["{a}", 1, true, null, { x: "{{ count }}" }] };
    for (const body of [mapping, ["{{ id }}"]]) {
      const { bodyTemplate } = receiver("webhook", { body });
      expect(JSON.parse(bodyTemplate?.reveal() ?? "")).toEqual(body);
    }
  });

  it.each([signingSecret, signingSecret.slice("whsec_".length)])(
    "of type webhook accept only secrets that can sign",
    (secret) => {
      const webhook = new Webhook(receiver("webhook", { secret }).secret?.reveal() ?? "");
      expect(webhook.sign("id", new Date(0), "body")).toMatch(/^v1,/);
    },
  );

  it("of type alertmanager are notified of everything, at once, at all instances", () => {
    const urls = ["https://am.example.com/base/", "http://127.0.0.1:9093"];
    const written = { name: "am", type: "alertmanager", urls, bearer_token: "token" };
    const read = receiverOf("alertmanager", parsed({ alerts: { receivers: [written] } }));
    expect(read).toMatchObject({ groupWaitMs: 0, sendResolved: true, generatorUrl: null });
    const addresses = read.urls.map((url) => url.reveal());
    expect(addresses).toEqual(["https://am.example.com/base", "http://127.0.0.1:9093"]);
    expect(read.headers.get("authorization")?.reveal()).toBe("Bearer token");
  });
});

it("maintenance windows have a start, a length, a time zone and what they are about", () => {
  const window = { name: "sundays", start: "0 2 * * SUN", duration: "2h" };
  const match = { server_name: "git*", severity: ["warning", "crit*"] };
  const maintenance = [{ ...window, match, time_zone: "Europe/Berlin" }];
  expect(parsed({ alerts: { maintenance } }).alerts.maintenance).toMatchObject([
    {
      start: "0 2 * * SUN",
      durationMs: 7_200_000,
      timeZone: "Europe/Berlin",
      match: { server_name: ["git*"], severity: ["warning", "crit*"] },
    },
  ]);
});

describe("single settings", () => {
  it("poll and probe at plain intervals or by cron expressions in a time zone", () => {
    const every = { kind: "every", ms: 45_000 };
    expect(parsed({ poll: { every: "45s" } }).poll.schedule).toEqual(every);
    const { poll, probes } = parsed({
      poll: { schedule: "@hourly", time_zone: "Europe/Berlin" },
      probes: [{ name: "worlds", operation: "universes", schedule: "0 3 * * *" }],
    });
    const cron = { kind: "cron", timeZone: "Europe/Berlin" };
    expect(poll.schedule).toEqual({ ...cron, expression: "@hourly" });
    expect(probes[0]?.schedule).toEqual({ ...cron, expression: "0 3 * * *" });
  });

  it("take numbers and booleans as text, which is what variables hold", () => {
    const { poll } = parsed({ poll: { stale_after: "5", rate_limit: { requests: "7" } } });
    expect(poll).toMatchObject({ staleAfter: 5, rateLimit: { requests: 7, perMs: 1_000 } });
    const perServer = ["on", "off", true, false, "true"].map(
      (per_server) => parsed({ metrics: { per_server } }).metrics.perServer,
    );
    expect(perServer).toEqual([true, false, true, false, true]);
  });

  it("read sizes with their units", () => {
    const bytes = ["64MiB", "10MB", "512KiB", 4_096, "4096B"].map(
      (max_body) => parsed({ poll: { max_body } }).poll.maxBodyBytes,
    );
    expect(bytes).toEqual([67_108_864, 10_000_000, 524_288, 4_096, 4_096]);
    for (const max_body of ["64mib", "1.5MiB", "1TB", "1constructor", "2GiB", "1"]) {
      const faults = faultLines(parseConfig({ ...smallest, poll: { max_body } }));
      expect([max_body, faults.length]).toEqual([max_body, 1]);
    }
  });

  it("read networks and single addresses", () => {
    const outbound = { deny_networks: ["10.0.0.0/8"], allow_networks: ["::1", "0.0.0.0/0"] };
    expect(parsed({ alerts: { outbound } }).alerts.outbound.networks).toEqual({
      deny: [parseNetwork("10.0.0.0/8")],
      allow: [parseNetwork("::1/128"), parseNetwork("0.0.0.0/0")],
    });
  });

  it.each([
    ["http://localhost:1/x", {}],
    ["http://127.8.0.1/x", {}],
    ["http://[::1]:8080", {}],
    ["http://a.localhost", {}],
    ["http://us.example.com", { allow_http: "on" }],
  ])("let %s go without encryption", (address, more) => {
    const receivers = [{ ...oncall, url: address, ...more }];
    const us = { base_url: address, ...more };
    const loaded = parseConfig({ ...smallest, regions: { us }, alerts: { receivers } });
    expect(faultLines(loaded)).toEqual([]);
  });
});

it.each(["Authorization", "proxy-authorization", "COOKIE"])(
  "credentials, as in %s, are no name that a proxy gives",
  (header) => {
    const proxy = { header, trusted: ["10.0.0.1"] };
    expect(faultLines(parseConfig({ ...smallest, http: { auth: { proxy } } }))).toEqual([
      expect.stringContaining("allowed: the name of a header without credentials"),
    ]);
  },
);
