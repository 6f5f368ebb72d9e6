import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load-config.ts";
import type { Fault } from "../../src/config/faults.ts";
import { readCronFields } from "../../src/lib/cron-fields.ts";
import { parseCronTimes } from "../../src/lib/cron-times.ts";
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

/** Values that no field has. A library that expands them first takes all memory, or all time. */
const beyond = [
  "99",
  "0-99999999",
  "99999999-0",
  "1-999999999999999999999",
  "1-2-3",
  "0-99999999/2",
  "*/99999999",
  "*/0",
  "0-5/99999999",
  "1e9",
  "-1",
  "5/2",
  "1,,2",
  "L-3",
  `${"1,".repeat(100_000)}1`,
  `${"0-99999999,".repeat(20)}1`,
  "1".repeat(100_000),
];

const fields = ["second", "minute", "hour", "day of month", "month", "day of week"];

describe("a cron expression with a value beyond the limits of its field", () => {
  const cases = beyond.map((value) => [value.slice(0, 30), value] as const);
  it.each(cases)("is refused with its place, wherever it is written: %s", (_, value) => {
    for (const { path, file, position } of places) {
      for (const [index, field] of fields.entries()) {
        const parts = fields.map(() => "*");
        parts[index] = value;
        const [fault, ...others] = faultsOf(file(parts.join(" ")));
        expect(others).toEqual([]);
        expect(fault).toMatchObject({ path, position });
        // What is too long as a whole is wrong as a whole.
        const where = value.length > 900 ? "such as" : `(wrong here: ${field})`;
        expect(fault?.allowed).toContain(where);
      }
    }
  });

  it.each(places)("is refused by check-config: $path", async ({ path, file, position }) => {
    const config = writeFiles({ "sandwatch.yaml": file("0-99999999 * * * * *") });
    const { code, err } = await runCommand(["check-config", "--config", config]);
    expect(code).toBe(2);
    expect(err).toContain(`${position.line}:${position.column} ${path}: found "0-99999999`);
  });
});

describe("a cron expression", () => {
  it.each([
    "*/30 * * * * *",
    "0,30 * * * *",
    "0-59/30 0-59 0-23 1-31 1-12 0-7",
    "  0   2 * * SUN  ",
    "0 2 * JAN-MAR,december monday-FRI",
    "0 22-2 * * FRI-MON",
    "0 0 L * *",
    "0 0 LW * *",
    "0 0 15W,1,L * ?",
    "0 0 ? * 5#2,MONL",
    "0 0 1-7 * +MON",
    "00 02 * * 7",
  ])("may have the forms of %s", (expression) => {
    for (const { file } of places) expect(faultsOf(file(expression))).toEqual([]);
  });

  it("is refused or can be used, whatever it is made of", () => {
    const atom = fc.constantFrom(
      "*",
      "?",
      "L",
      "LW",
      "15W",
      "W",
      "#",
      "5#2",
      "MON",
      "FEB",
      "+",
      "7",
    );
    const number = fc.integer({ min: 0, max: 70 }).map(String);
    const mark = fc.constantFrom("-", "/", ",", "");
    const pieces = fc.array(fc.tuple(fc.oneof(atom, number), mark), { minLength: 1, maxLength: 3 });
    const field = fc.oneof(
      fc.constant("*"),
      pieces.map((all) =>
        all
          .flat()
          .join("")
          .replace(/[-/,]$/, ""),
      ),
    );
    fc.assert(
      fc.property(fc.array(field, { minLength: 4, maxLength: 7 }), (written) => {
        const expression = written.join(" ");
        const read = readCronFields(expression);
        const times = parseCronTimes(expression, "UTC");
        expect(times === undefined).toBe(read.kind === "wrong");
        times?.next(0);
      }),
      { numRuns: 2_000 },
    );
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
