import { describe, expect, it } from "vitest";
import { parseConfig } from "../../src/config/load-config.ts";
import { onlyKnownToSandwatch } from "./faulty-cross-checks.ts";
import { faulty } from "./faulty.ts";
import { everyKind, faultLines, parseWith } from "./support.ts";

describe("a fault names the setting, what was found and what is allowed", () => {
  const cases = [...faulty, ...onlyKnownToSandwatch].map(
    ([path, value, fault, at = path]) => [path, value, fault, at] as const,
  );

  it.each(cases)("of %s: %j", (path, value, fault, at) => {
    const where = at === "" ? "" : `${at}: `;
    expect(faultLines(parseWith(path, value))).toEqual([`${where}found ${fault}`]);
  });

  it("of a rule that a maintenance window names, where there are only the default ones", () => {
    const { rules: _, ...alerts } = everyKind.alerts;
    const [window] = alerts.maintenance;
    const maintenance = [{ ...window, match: { rule: ["b*", "server-eror", "receiver-failing"] } }];
    expect(faultLines(parseConfig({ ...everyKind, alerts: { ...alerts, maintenance } }))).toEqual([
      'alerts.maintenance[0].match.rule[1]: found "server-eror"; allowed: the name of a configured rule: server-error, target-down, target-partial, receiver-failing; did you mean "server-error"?',
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
  const loaded = parseConfig({
    regions: { us: { base_url: "https://us.example.com", typo: 1 }, eu: {} },
    keys: [{ name: "x", api_key: "k", regions: ["su"] }],
    poll: { schedule: "*", timeout: "soon" },
    alerts: { rules: [{ on: "server", status: "bad" }] },
    loog: {},
  });
  const pathsOf = (lines: readonly string[]) => lines.map((line) => line.split(":")[0]);
  expect(pathsOf(faultLines(loaded))).toEqual([
    "regions.us.typo",
    "regions.eu.base_url",
    "poll.schedule",
    "poll.timeout",
    "alerts.rules[0].name",
    "alerts.rules[0].status",
    "loog",
  ]);
  const between = parseConfig({
    regions: everyKind.regions,
    keys: [
      { name: "x", api_key: "k", regions: ["su"] },
      { name: "x", api_key: "k" },
    ],
    alerts: { rules: [{ name: "a", on: "target", auth: "1m", match: { key: "z" } }] },
  });
  expect(pathsOf(faultLines(between))).toEqual([
    "keys[1].name",
    "keys[1].api_key",
    "keys[0].regions[0]",
    "alerts.rules[0].match.key",
  ]);
});
