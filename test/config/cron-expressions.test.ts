import { describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load-config.ts";
import type { Fault } from "../../src/config/faults.ts";
import { runCommand } from "../support/run-command.ts";
import { configOf, writeFiles } from "./support.ts";

const polled = (expression: string): string => `
regions: { us: { base_url: "http://127.0.0.1:1" } }
keys: [{ name: research, api_key: not-a-real-key }]
poll:
  schedule: ${JSON.stringify(expression)}
`;

const probed = (expression: string): string => `
regions: { us: { base_url: "http://127.0.0.1:1" } }
keys: [{ name: research, api_key: not-a-real-key }]
probes:
  - { name: worlds, operation: universes, schedule: ${JSON.stringify(expression)} }
`;

const maintained = (expression: string): string => `
regions: { us: { base_url: "http://127.0.0.1:1" } }
keys: [{ name: research, api_key: not-a-real-key }]
alerts:
  maintenance:
    - name: weekly
      start: ${JSON.stringify(expression)}
      duration: 1h
      match: { region: us }
`;

const places = [
  { path: "poll.schedule", file: polled, position: { line: 5, column: 3 } },
  { path: "probes[0].schedule", file: probed, position: { line: 5, column: 43 } },
  { path: "alerts.maintenance[0].start", file: maintained, position: { line: 7, column: 7 } },
];

function faultsOf(text: string): readonly Fault[] {
  const loaded = loadConfig(writeFiles({ "sandwatch.yaml": text }), {});
  return loaded.kind === "ok" ? [] : loaded.faults;
}

describe("a cron expression", () => {
  it.each(places)("is refused by check-config: $path", async ({ path, file, position }) => {
    const config = writeFiles({ "sandwatch.yaml": file("0-99999999 * * * * *") });
    const { code, err } = await runCommand(["check-config", "--config", config]);
    expect(code).toBe(2);
    expect(err).toContain(`${position.line}:${position.column} ${path}: found "0-99999999`);
    expect(err).toContain("(wrong here: second)");
  });

  it.each(["@hourly", "@DAILY", "@weekly"])("may be %s for polls and probes", (expression) => {
    expect([polled, probed].flatMap((file) => faultsOf(file(expression)))).toEqual([]);
    expect(faultsOf(maintained(expression))).toHaveLength(1);
  });

  it.each(["0 0 31 2,4,6 *", "0 0 30 FEB *", "0 0 0 30 2 ?"])(
    "for a day that there is not is refused with its place: %s",
    (expression) => {
      for (const { path, file, position } of places) {
        const [fault, ...others] = faultsOf(file(expression));
        expect([fault, others]).toMatchObject([{ path, position }, []]);
      }
    },
  );
});

describe("poll.time_zone", () => {
  const both = `${polled("0 2 * * *")}  time_zone: Europe/Berlin
probes: [{ name: worlds, operation: universes, schedule: "0 3 * * *" }]
`;
  it("is the zone of polls and probes, and UTC unless given", () => {
    const { poll, probes } = configOf(loadConfig(writeFiles({ "sandwatch.yaml": both }), {}));
    const timeZone = "Europe/Berlin";
    expect(poll.schedule).toEqual({ kind: "cron", expression: "0 2 * * *", timeZone });
    expect(probes.map(({ schedule }) => schedule)).toEqual([
      { kind: "cron", expression: "0 3 * * *", timeZone },
    ]);
    const usual = writeFiles({ "sandwatch.yaml": polled("0 2 * * *") });
    expect(configOf(loadConfig(usual, {})).poll.schedule).toMatchObject({ timeZone: "UTC" });
  });

  it.each(["Europe/Berlim", "+01:00", "", "local"])("cannot be %j", (zone) => {
    const text = `${polled("0 2 * * *")}  time_zone: ${JSON.stringify(zone)}\n`;
    expect(faultsOf(text)).toMatchObject([{ path: "poll.time_zone", position: { line: 6 } }]);
  });
});
