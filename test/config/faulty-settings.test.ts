import { describe, expect, it } from "vitest";
import { parseConfig } from "../../src/config/load-config.ts";
import { faultySettings } from "./faulty-settings.ts";
import { faultLines } from "./support.ts";

describe("a wrong setting is told by path, what was found and what is allowed", () => {
  it.each(faultySettings)("%s", (_title, value, line) => {
    expect(faultLines(parseConfig(value))).toStrictEqual([line]);
  });

  it("with every fault at once, within settings and between them", () => {
    const loaded = parseConfig({
      regions: { us: { base_url: "http://us.example.com", typo: 1 }, eu: {} },
      keys: [
        { name: "a b" },
        { name: "x", api_key: "k", regions: ["su"] },
        { name: "x", api_key: "k" },
      ],
      poll: { schedule: "*", every: "1s", timeout: "soon" },
      alerts: {
        rules: [{ on: "server", status: "bad", receivers: ["nobody"], match: { key: "z" } }],
        receivers: [{ name: "r", type: "webhook", group_by: ["rule", "rule"] }],
      },
      loog: {},
    });
    expect(faultLines(loaded).map((line) => line.split(":")[0])).toStrictEqual([
      "regions.us.typo",
      "regions.eu.base_url",
      "keys[0].name",
      "keys[0].api_key",
      "poll.schedule",
      "poll.timeout",
      "alerts.rules[0].name",
      "alerts.rules[0].status",
      "alerts.receivers[0].url",
      "loog",
      "regions.us.base_url",
      "keys[2].name",
      "keys[2].api_key",
      "keys[1].regions[0]",
      "poll.every",
      "alerts.rules[0].receivers[0]",
      "alerts.rules[0].match.key",
      "alerts.receivers[0].group_by[1]",
    ]);
  });
});
