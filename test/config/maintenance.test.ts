import { describe, expect, it } from "vitest";
import { parseConfig } from "../../src/config/load-config.ts";
import { configOf, faultLines } from "./support.ts";

const sound = {
  name: "sundays",
  start: "0 2 * * SUN",
  duration: "2h",
  time_zone: "Europe/Berlin",
  match: { region: "us" },
};

function parse(settings: object, alerts: object = {}) {
  return parseConfig({
    regions: { us: { base_url: "https://us.example.com" } },
    keys: [{ name: "research", api_key: "k1" }],
    probes: [{ name: "login", operation: "user", id: "u1" }],
    alerts: { ...alerts, maintenance: [{ ...sound, ...settings }] },
  });
}

const start = "a cron expression of five fields, or six with seconds first, such as 0 2 * * SUN";
const at = "alerts.maintenance[0]";

describe("a maintenance window in the configuration", () => {
  it("has a start, a length, a time zone and what it is about", () => {
    const { alerts } = configOf(parse({ match: { server_name: "git*", probe: "log*" } }));
    expect(alerts.maintenance).toEqual([
      {
        name: "sundays",
        start: "0 2 * * SUN",
        durationMs: 7_200_000,
        timeZone: "Europe/Berlin",
        match: { server_name: ["git*"], probe: ["log*"] },
        reason: null,
      },
    ]);
  });

  it("is in UTC unless it says otherwise", () => {
    const { time_zone: _, ...rest } = sound;
    const parsed = parseConfig({
      regions: { us: { base_url: "https://us.example.com" } },
      keys: [{ name: "research", api_key: "k1" }],
      alerts: { maintenance: [rest] },
    });
    expect(configOf(parsed).alerts.maintenance[0]?.timeZone).toBe("UTC");
  });

  it.each<[string, object, string]>([
    [
      "that never opens",
      { start: "0 2 31 2 *" },
      `${at}.start: found "0 2 31 2 *"; allowed: ${start}; there is no such day`,
    ],
    ["with an empty start", { start: "" }, `${at}.start: found empty text; allowed: ${start}`],
    [
      "with a start that is none",
      { start: "sundays" },
      `${at}.start: found "sundays"; allowed: ${start}`,
    ],
    [
      "of no length",
      { duration: "0s" },
      `${at}.duration: found "0s"; allowed: a duration such as 1m or 1h30m, from 1m to 31d`,
    ],
    [
      "in an unknown time zone",
      { time_zone: "Europe/Berlim" },
      `${at}.time_zone: found "Europe/Berlim"; allowed: the name of a time zone, such as Europe/Berlin or UTC; did you mean "Europe/Berlin"?`,
    ],
    [
      "about everything",
      { match: {} },
      `${at}.match: found an empty mapping; allowed: at least one field: it would silence everything`,
    ],
    [
      "about an unknown region",
      { match: { region: "uss" } },
      `${at}.match.region: found "uss"; allowed: the name of a configured region: us; did you mean "us"?`,
    ],
    [
      "about an unknown key",
      { match: { key: ["researsh"] } },
      `${at}.match.key[0]: found "researsh"; allowed: the name of a configured key: research; did you mean "research"?`,
    ],
    [
      "about an unknown probe",
      { match: { probe: "logn" } },
      `${at}.match.probe: found "logn"; allowed: the name of a configured probe: login; did you mean "login"?`,
    ],
    [
      "about an unknown rule, of the usual ones",
      { match: { rule: "server-eror" } },
      `${at}.match.rule: found "server-eror"; allowed: the name of a configured rule: server-error, target-down, target-partial, receiver-failing; did you mean "server-error"?`,
    ],
    [
      "about an unknown severity",
      { match: { severity: "fatal" } },
      `${at}.match.severity: found "fatal"; allowed: critical, warning, info`,
    ],
  ])("is refused %s", (_, changes, line) => {
    expect(faultLines(parse(changes))).toEqual([line]);
  });

  it("may name only rules that there are, the built-in one among them", () => {
    const rules = [{ name: "busy", on: "server", status: "occupied" }];
    const lines = faultLines(
      parse({ match: { rule: ["busy", "server-error", "b*", "receiver-failing"] } }, { rules }),
    );
    expect(lines).toEqual([
      `${at}.match.rule[1]: found "server-error"; allowed: the name of a configured rule: busy, receiver-failing`,
    ]);
  });

  it("has a name of its own", () => {
    const parsed = parseConfig({
      regions: { us: { base_url: "https://us.example.com" } },
      keys: [{ name: "research", api_key: "k1" }],
      alerts: { maintenance: [sound, sound] },
    });
    expect(faultLines(parsed)).toEqual([
      'alerts.maintenance[1].name: found "sundays", the same as alerts.maintenance[0].name; allowed: a name that no other window has',
    ]);
  });
});
