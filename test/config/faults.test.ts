import { describe, expect, it } from "vitest";
import { parseConfig } from "../../src/config/load-config.ts";
import { everyKind, faultCases, faultLines, parseWith } from "./support.ts";

describe("a fault names the setting, what was found and what is allowed", () => {
  it.each(faultCases.flat())("of $path: $value", ({ path, value, fault }) => {
    expect(faultLines(parseWith(path, value))).toEqual([fault]);
  });

  it("of a rule that a maintenance window names, where there are only the default ones", () => {
    const { rules: _, ...alerts } = everyKind.alerts;
    const [window] = alerts.maintenance;
    const maintenance = [{ ...window, match: { rule: ["b*", "server-eror", "receiver-failing"] } }];
    expect(faultLines(parseConfig({ ...everyKind, alerts: { ...alerts, maintenance } }))).toEqual([
      'alerts.maintenance[0].match.rule[1]: found "server-eror"; allowed: the name of a configured rule: server-error, sandbox-error, key-refused, target-down, target-partial, region-down, receiver-failing; did you mean "server-error"?',
    ]);
  });

  it("of a probe that uses no key in its regions", () => {
    const regions = { ...everyKind.regions, eu: { base_url: "https://eu.example.com" } };
    const keys = [{ name: "research", api_key: "k1", regions: ["us"] }];
    const probes = [{ ...everyKind.probes[0], regions: ["eu"] }];
    expect(faultLines(parseConfig({ ...everyKind, regions, keys, probes }))).toEqual([
      "probes[0]: found no key that is used in any of its regions; allowed: at least one key that is used in one of the regions",
    ]);
  });
});

it("faults are reported at once: those within settings, and when there are none those between them", () => {
  const pathsOf = (config: object) =>
    faultLines(parseConfig(config)).map((line) => line.split(":")[0]);
  const within = {
    regions: { us: { base_url: "https://us.example.com", typo: 1 }, eu: {} },
    keys: [{ name: "x", api_key: "k", regions: ["su"] }],
    poll: { schedule: "*", timeout: "soon" },
    loog: {},
  };
  expect(pathsOf(within)).toEqual([
    "regions.us.typo",
    "regions.eu.base_url",
    "poll.schedule",
    "poll.timeout",
    "loog",
  ]);
  const key = { name: "x", api_key: "k" };
  const rules = [{ name: "a", on: "target", auth: "1m", match: { key: "z" } }];
  const between = {
    ...everyKind,
    keys: [{ ...key, regions: ["su"] }, key],
    probes: [],
    reports: [],
  };
  expect(pathsOf({ ...between, alerts: { rules } })).toEqual([
    "keys[1].name",
    "keys[1].api_key",
    "keys[0].regions[0]",
    "alerts.rules[0].match.key",
  ]);
});

it.each(["localhost", "127.0.0.2", "[::1]"])(
  "at the loopback address %s everything is allowed without `auth`",
  (host) => {
    expect(faultLines(parseWith("http", { listen: `${host}:1` }))).toEqual([]);
  },
);

it.each([":9740", "0.0.0.0:1", "[::]:1", "10.0.0.1:1", "watch.example.com:1"])(
  "others may reach %s if `auth` has a token, or says that everybody may do everything",
  (listen) => {
    const { tokens } = everyKind.http.auth;
    for (const auth of ["none", { tokens }])
      expect(faultLines(parseWith("http", { listen, auth }))).toEqual([]);
  },
);
