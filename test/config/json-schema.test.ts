import { globSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { valueAt } from "../../src/config/evidence.ts";
import { parseConfig } from "../../src/config/load-config.ts";
import { faultyAlerts } from "./faulty-alerts.ts";
import { faultySettings } from "./faulty-settings.ts";
import { schemaFaults, schemaFile } from "./schema-validator.ts";
import { oddValues } from "./odd-values.ts";
import { configFolder, placesIn, wholeExample, withAt } from "./whole-example.ts";

const root = join(configFolder, "..");

function read(path: string): string {
  return readFileSync(join(root, path), "utf8");
}

function isConfiguration(text: string): boolean {
  return /^regions:/m.test(text) && /^keys:/m.test(text);
}

const shipped = globSync("config/**/*.yaml", { cwd: root }).filter((path) =>
  isConfiguration(read(path)),
);

describe("the JSON Schema of the configuration", () => {
  it("is named in the first line of every configuration that there is", () => {
    expect(shipped.toSorted()).toEqual([
      "config/compose/simulated.yaml",
      "config/kubernetes/example/sandwatch.yaml",
      "config/sandwatch.example.yaml",
    ]);
    for (const path of shipped) {
      const [, named = ""] = /^# yaml-language-server: \$schema=(\S+)\n/.exec(read(path)) ?? [];
      expect([path, resolve(root, dirname(path), named)]).toEqual([path, resolve(schemaFile)]);
    }
  });

  it("goes with the package and the image", () => {
    const path = "config/sandwatch.schema.json";
    expect(JSON.parse(read("package.json"))).toMatchObject({
      files: expect.arrayContaining([path]),
    });
    expect(read("Dockerfile")).toContain(`COPY ${path} /app/config/\n`);
    expect(read(".dockerignore").split("\n")).toContain(`!${path}`);
  });

  it.each(shipped)("takes %s as it is written, with its variables", (path) => {
    expect(schemaFaults(parse(read(path)))).toEqual([]);
  });

  it.each(["README.md", ...globSync("docs/*.md", { cwd: root })])(
    "takes each configuration in %s",
    (path) => {
      const blocks = Array.from(
        read(path).matchAll(/```yaml\n([\s\S]*?)```/g),
        ([, text = ""]) => text,
      );
      for (const text of blocks.filter(isConfiguration)) {
        expect(schemaFaults(parse(text))).toEqual([]);
      }
    },
  );

  it("takes a variable wherever there is one value", () => {
    const example = wholeExample();
    const changed = placesIn(example)
      .filter((place) => isScalar(valueAt(example, place)) && place.at(-1) !== "present")
      .map((place) => withAt(example, place, "${NAME}"));
    expect(changed.length).toBeGreaterThan(100);
    expect(changed.flatMap((value) => schemaFaults(value))).toEqual([]);
  });

  it("takes all that sandwatch takes, whatever is changed in the example", () => {
    const example = wholeExample();
    expect(parseConfig(example)).toMatchObject({ kind: "ok" });
    const places = placesIn(example).filter((place) => place.length > 0);
    const anyChange = fc.tuple(fc.constantFrom(...places), fc.constantFrom(...oddValues));
    fc.assert(
      fc.property(anyChange, ([place, value]) => {
        const changed = withAt(example, place, value);
        const faults = parseConfig(changed).kind === "ok" ? schemaFaults(changed) : [];
        expect(faults).toEqual([]);
      }),
      { numRuns: 150 },
    );
  });
});

function isScalar(value: unknown): boolean {
  return ["string", "number", "boolean"].includes(typeof value);
}

/** What one setting says of another, what a text means, and how long a duration is. */
const onlyKnownToSandwatch = new Set([
  "an address in the clear",
  "an address in the clear, not allowed",
  "a receiver in the clear",
  "a receiver with a password",
  "history for less than a day",
  "an interval below a second",
  "a flapping that never ends",
  "a receiver that gives up at once",
  "a receiver that never gives up",
  "a cron field",
  "an unknown region",
  "an unknown region to match",
  "an unknown key to match",
  "an unknown receiver",
  "a rule that fits no target",
  "two keys of one name",
  "one key under two names",
  "two rules of one name",
  "a rule by the name of one that is built in",
  "two receivers of one name",
]);

describe("an editor is told by the JSON Schema of", () => {
  const faulty = [...faultySettings, ...faultyAlerts];

  it.each(faulty.filter(([title]) => !onlyKnownToSandwatch.has(title)))("%s", (_, value) => {
    expect(schemaFaults(value)).not.toEqual([]);
  });

  it("all but what only sandwatch knows", () => {
    const unseen = faulty.filter(([, value]) => schemaFaults(value).length === 0);
    expect(new Set(unseen.map(([title]) => title))).toEqual(onlyKnownToSandwatch);
  });

  const smallest = {
    regions: { us: { base_url: "https://us.example.com" } },
    keys: [{ name: "research", api_key: "k1" }],
  };
  const webhook = { name: "a", type: "webhook", url: "https://hooks.example.com/x" };
  const withReceiver = (receiver: object) => ({ ...smallest, alerts: { receivers: [receiver] } });
  const withProbe = (probe: object) => ({ ...smallest, probes: [probe] });
  const withWindow = (window: object) => ({
    ...smallest,
    alerts: {
      maintenance: [
        { name: "a", start: "0 2 * * *", duration: "1h", match: { rule: "*" }, ...window },
      ],
    },
  });

  it.each<[string, object, string]>([
    [
      "a secret beside its file",
      { ...smallest, keys: [{ name: "a", api_key: "k", api_key_file: "f" }] },
      "/keys/0 ",
    ],
    ["a key without secret and file", { ...smallest, keys: [{ name: "a" }] }, "/keys/0 "],
    ["a receiver of no type", withReceiver({ name: "a" }), "/alerts/receivers/0 "],
    ["a misspelt type", withReceiver({ ...webhook, type: "webhok" }), "/alerts/receivers/0/type "],
    ["a setting of another type", withReceiver({ ...webhook, urls: [] }), "/alerts/receivers/0 "],
    [
      "a form and a body",
      withReceiver({ ...webhook, format: "sandwatch", body: {} }),
      "/alerts/receivers/0 ",
    ],
    ["a body that is text", withReceiver({ ...webhook, body: "x" }), "/alerts/receivers/0/body "],
    [
      "half a routing key",
      withReceiver({ name: "a", type: "pagerduty", routing_key: "0123" }),
      "/alerts/receivers/0/routing_key ",
    ],
    [
      "one instance alone",
      withReceiver({ name: "a", type: "alertmanager", urls: "https://a" }),
      "/alerts/receivers/0/urls ",
    ],
    [
      "a heartbeat's method",
      withReceiver({ ...webhook, type: "heartbeat", method: "PUT" }),
      "/alerts/receivers/0/method ",
    ],
    ["a probe without id", withProbe({ name: "a", operation: "user" }), "/probes/0 "],
    [
      "a probe with an id too many",
      withProbe({ name: "a", operation: "universes", id: "x" }),
      "/probes/0 ",
    ],
    [
      "a probe with two schedules",
      withProbe({ name: "a", operation: "universes", every: "5s", schedule: "* * * * * *" }),
      "/probes/0 ",
    ],
    [
      "a status to wait for",
      withProbe({ name: "a", operation: "universes", expect: { status: 429 } }),
      "/probes/0/expect/status ",
    ],
    [
      "a field that is not present",
      withProbe({
        name: "a",
        operation: "universes",
        expect: { fields: { a: { present: false } } },
      }),
      "/probes/0/expect/fields/a",
    ],
    [
      "a path to no field",
      withProbe({ name: "a", operation: "universes", expect: { fields: { "a..b": 1 } } }),
      "/probes/0/expect/fields ",
    ],
    ["a window about everything", withWindow({ match: {} }), "/alerts/maintenance/0/match "],
    [
      "a window about no severity",
      withWindow({ match: { severity: "fatal" } }),
      "/alerts/maintenance/0/match/severity",
    ],
    [
      "a window that begins on sundays",
      withWindow({ start: "sundays" }),
      "/alerts/maintenance/0/start ",
    ],
    [
      "networks by name",
      { ...smallest, alerts: { outbound: { deny_networks: ["example.com"] } } },
      "/alerts/outbound/deny_networks/0 ",
    ],
  ])("%s, where it is", (_, value, place) => {
    expect(parseConfig(value).kind).toBe("faulty");
    const faults = schemaFaults(value);
    expect(faults).toContainEqual(expect.stringContaining(place));
    // Nothing is said of kinds that it is not.
    expect(faults.filter((fault) => !fault.startsWith(place.trimEnd()))).toEqual([]);
  });
});
