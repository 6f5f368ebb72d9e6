import { describe, expect, it } from "vitest";
import { configNotes } from "../../src/cli/check-config.ts";
import type { Config } from "../../src/config/config.ts";
import { parseConfig } from "../../src/config/load-config.ts";
import { parseNetwork } from "../../src/lib/networks.ts";
import { configOf, faultLines } from "./support.ts";

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
      store: { path: "data/sandwatch.db" },
      history: {
        changes: 400 * dayMs,
        buckets: { "5m": 30 * dayMs, "1h": 400 * dayMs, "1d": null },
      },
      http: { host: "127.0.0.1", port: 9740 },
      log: { level: "info", format: "json" },
      metrics: { perServer: true },
      alerts: { receivers: [], outbound: { deny: [], allow: null } },
    });
    expect([...config.regions]).toStrictEqual([
      ["us", { baseUrl: "https://us.example.com" }],
      ["eu", { baseUrl: "https://eu.example.com/api" }],
    ]);
    const [key] = config.keys;
    expect([key?.apiKey.reveal(), key?.regions]).toEqual(["k1", ["us", "eu"]]);
  });

  it("notifies every receiver but heartbeats of servers in error and of targets that are down", () => {
    const heartbeat = { name: "watchdog", type: "heartbeat", url: "https://hc.example.com/x" };
    const config = parsed({ alerts: { receivers: [oncall, heartbeat] } });
    const common = {
      keepFiringForMs: 0,
      remindEveryMs: null,
      receivers: ["oncall"],
      match: {},
      summaryTemplate: null,
      runbookUrlTemplate: null,
    };
    const target = { ...common, on: "target", severity: "warning" };
    expect(config.alerts.rules).toStrictEqual([
      {
        ...common,
        name: "server-error",
        on: "server",
        severity: "critical",
        status: "error",
        for: { kind: "duration", ms: 0 },
        flap: null,
      },
      { ...target, name: "target-down", trouble: "failing", for: { kind: "polls", polls: 3 } },
      { ...target, name: "target-partial", trouble: "partial", for: { kind: "polls", polls: 10 } },
    ]);
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
  const usual = {
    keepFiringForMs: 0,
    remindEveryMs: null,
    receivers: ["oncall"],
    summaryTemplate: null,
    runbookUrlTemplate: null,
  };

  it("on servers are read whole", () => {
    const match = { region: "us", key: ["research", "x*"], tag: "prod", benchmark: "*" };
    expect(
      ruleOf({
        name: "stuck",
        on: "server",
        status: "occupied",
        for: "1h30m",
        keep_firing_for: "5m",
        match: { ...match, server_name: ["git*"] },
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

  it("on pools are read whole, and pool by region and key by default", () => {
    const rule = { name: "full", on: "pool", occupied_ratio: { above: 0.9 } };
    const more = { by: ["server_name"], for: "10m", match: { server_name: "git*" } };
    expect(ruleOf({ ...rule, ...more })).toStrictEqual({
      ...usual,
      name: "full",
      on: "pool",
      severity: "warning",
      by: ["server_name"],
      measure: "occupied_ratio",
      side: "above",
      limit: 0.9,
      forMs: 600_000,
      match: { serverName: ["git*"] },
    });
    expect(ruleOf(rule)).toMatchObject({ by: ["region", "key"] });
    expect(ruleOf({ ...rule, by: "region" })).toMatchObject({ by: ["region"] });
    expect(ruleOf({ ...rule, by: [] })).toMatchObject({ by: [] });
  });

  it("on probes are read whole", () => {
    const match = { probe: "log*", region: ["us"] };
    const rule = { name: "failing", on: "probe", failing: { polls: 3 }, match };
    expect(ruleOf({ ...rule, flap: { changes: 2, within: "1h" } })).toStrictEqual({
      ...usual,
      name: "failing",
      on: "probe",
      severity: "warning",
      for: { kind: "polls", polls: 3 },
      flap: { changes: 2, withinMs: 3_600_000 },
      match: { probe: ["log*"], region: ["us"] },
    });
  });

  it.each([
    [
      { on: "server", status: "error", for: { polls: 2 } },
      { kind: "polls", polls: 2 },
    ],
    [
      { on: "server", status: "error", for: 0 },
      { kind: "duration", ms: 0 },
    ],
    [
      { on: "target", failing: "5m" },
      { kind: "duration", ms: 300_000 },
    ],
    [
      { on: "target", auth: { polls: "1" } },
      { kind: "polls", polls: 1 },
    ],
  ])("hold for polls as well as for a time: %j", (rule, hold) => {
    expect(ruleOf({ name: "a", ...rule })).toMatchObject({ for: hold });
  });
});

describe("probes", () => {
  const user = { name: "login", operation: "user", id: "user-1" };
  const keys = [...smallest.keys, { name: "evals", api_key: "k2", regions: ["eu"] }];
  const probeOf = (more: object) => parsed({ keys, probes: [{ ...user, ...more }] }).probes[0];

  it("run every minute, with every key in its regions, and expect a response by default", () => {
    expect(probeOf({})).toEqual({
      name: "login",
      operation: "get_user",
      id: "user-1",
      targets: [
        { region: "us", key: "research" },
        { region: "eu", key: "research" },
        { region: "eu", key: "evals" },
      ],
      schedule: { kind: "every", ms: 60_000 },
      expect: { status: 200, success: null, atLeast: null, fields: [] },
    });
    const targets = [{ region: "eu", key: "evals" }];
    expect(probeOf({ regions: ["us", "eu"], keys: ["evals"] })).toMatchObject({ targets });
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

describe("maintenance windows", () => {
  it("have a start, a length, a time zone and what they are about", () => {
    const window = { name: "sundays", start: "0 2 * * SUN", duration: "2h" };
    const match = { server_name: "git*", severity: ["warning", "crit*"] };
    const maintenance = [{ ...window, match, time_zone: "Europe/Berlin" }];
    expect(parsed({ alerts: { maintenance } }).alerts.maintenance).toEqual([
      {
        name: "sundays",
        start: "0 2 * * SUN",
        durationMs: 7_200_000,
        timeZone: "Europe/Berlin",
        match: { server_name: ["git*"], severity: ["warning", "crit*"] },
        reason: null,
      },
    ]);
  });
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

  it.each([
    ["on", true],
    ["off", false],
    [true, true],
    [false, false],
    ["true", true],
  ])("per_server: %j is %j", (perServer, expected) => {
    expect(parsed({ metrics: { per_server: perServer } }).metrics.perServer).toBe(expected);
  });

  it("take numbers as text, which is what variables hold", () => {
    const { poll } = parsed({ poll: { stale_after: "5", rate_limit: { requests: "7" } } });
    expect(poll).toMatchObject({ staleAfter: 5, rateLimit: { requests: 7, perMs: 1_000 } });
  });

  it.each([
    ["64MiB", 67_108_864],
    ["10MB", 10_000_000],
    ["512KiB", 524_288],
    [4096, 4_096],
    ["4096B", 4_096],
  ])("a body of %j is one of %i bytes", (size, bytes) => {
    expect(parsed({ poll: { max_body: size } }).poll.maxBodyBytes).toBe(bytes);
  });

  it.each(["64mib", "1.5MiB", "1TB", "1constructor", "2GiB", "1"])("%j is no size", (size) => {
    expect(faultLines(parseConfig({ ...smallest, poll: { max_body: size } }))).toHaveLength(1);
  });

  it("read networks and single addresses", () => {
    const outbound = { deny_networks: ["10.0.0.0/8"], allow_networks: ["::1", "0.0.0.0/0"] };
    expect(parsed({ alerts: { outbound } }).alerts.outbound).toEqual({
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
    const loaded = parseConfig({
      ...smallest,
      regions: { us: { base_url: address, ...more } },
      alerts: { receivers: [{ ...oncall, url: address, ...more }] },
    });
    expect(faultLines(loaded)).toEqual([]);
  });
});
