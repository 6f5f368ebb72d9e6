import { inspect } from "node:util";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { formatFaults } from "../../src/config/faults.ts";
import { loadConfig, parseConfig, type LoadedConfig } from "../../src/config/load-config.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { signingSecret, writeFiles } from "./support.ts";

const marker = "Xk7QmarkerZ9";

function allOutput(loaded: LoadedConfig): string {
  const shown = loaded.kind === "ok" ? "" : formatFaults("sandwatch.yaml", loaded.faults);
  const depth = Number.POSITIVE_INFINITY;
  return [shown, JSON.stringify(loaded), inspect(loaded, { depth, showHidden: true })].join("\n");
}

/** What may be wrong about a secret: its shape, its kind, its place. */
const wrongSecrets: readonly unknown[] = [
  marker,
  `${marker} ${marker}`,
  `${marker}\n`,
  `\${${marker}`,
  `https://${marker}@example.com/`,
  `http://example.com/${marker}?${marker}#${marker}`,
  `//${marker}`,
  `whsec_${marker}`,
  [marker],
  { [`https://${marker}`]: marker },
  [[marker]],
];

const settings = [
  ["keys", "api_key"],
  ["keys", "api_key_file"],
  ["keys", "api_kye"],
  ["receivers", "url"],
  ["receivers", "url_file"],
  ["receivers", "secret"],
  ["receivers", "secret_file"],
  ["receivers", "scret"],
  ["alertmanager", "urls"],
  ["alertmanager", "bearer_token"],
  ["alertmanager", "bearer_token_file"],
  ["heartbeat", "url"],
] as const;

const otherReceivers = {
  alertmanager: { name: "am", type: "alertmanager", urls: ["https://am.example.com"] },
  heartbeat: { name: "watchdog", type: "heartbeat", url: "https://hc.example.com" },
};

function configWith(list: (typeof settings)[number][0], setting: string, secret: unknown): object {
  if (list === "alertmanager" || list === "heartbeat") {
    const value = setting === "urls" ? [secret] : secret;
    const config = configWith("keys", "regions", undefined);
    const receivers = [{ ...otherReceivers[list], [setting]: value }];
    return { ...config, alerts: { receivers } };
  }
  const key = { name: "research", api_key: "k1" };
  const receiver = { name: "oncall", type: "webhook", url: "https://hooks.example.com" };
  const changed = { [list]: { ...(list === "keys" ? key : receiver), [setting]: secret } };
  return {
    regions: { us: { base_url: "https://us.example.com" } },
    keys: [changed["keys"] ?? key],
    alerts: { receivers: [changed["receivers"] ?? receiver] },
  };
}

describe("a secret is not shown", () => {
  it("when it is right", () => {
    const config = {
      regions: { us: { base_url: "https://us.example.com" } },
      keys: [{ name: "research", api_key: marker }],
      alerts: {
        receivers: [
          {
            name: "oncall",
            type: "webhook",
            url: `https://${marker.toLowerCase()}.example.com/${marker}?${marker}`,
            secret: signingSecret,
          },
        ],
      },
    };
    const loaded = parseConfig(config);
    expect(loaded.kind).toBe("ok");
    expect(allOutput(loaded).toLowerCase()).not.toContain(marker.toLowerCase());
    expect(allOutput(loaded)).not.toContain(signingSecret.slice(6));
  });

  it("whatever is wrong about it", () => {
    const folder = tempFolder();
    for (const [list, setting] of settings) {
      for (const secret of wrongSecrets) {
        const config = configWith(list, setting, secret);
        expect(allOutput(parseConfig(config))).not.toContain(marker);
        const file = writeFiles({ "sandwatch.yaml": stringify(config) });
        const loaded = loadConfig(file, { PWD: folder });
        expect(allOutput(loaded).replaceAll(folder, "")).not.toContain(marker);
      }
    }
  });

  it("when it stands where a mapping or a list belongs", () => {
    for (const secret of [marker, [marker], { [`k:${marker}`]: null }]) {
      const loaded = parseConfig({ regions: secret, keys: secret, alerts: { receivers: secret } });
      expect(allOutput(loaded)).not.toContain(marker);
    }
  });

  it("when the address of a region holds it", () => {
    for (const base_url of [
      `https://${marker}@us.example.com`,
      `https://u:${marker}@us.example.com`,
      `https://us.example.com/?${marker}`,
      `https://us.example.com/#${marker}`,
      `u:${marker}@us.example.com`,
      `http://u:${marker}@us.example.com`,
    ]) {
      const regions = { us: { base_url } };
      const loaded = parseConfig({ regions, keys: [{ name: "a", api_key: "b" }] });
      expect(loaded.kind).toBe("faulty");
      expect(allOutput(loaded)).not.toContain(marker);
    }
  });

  it.each([
    `keys: [ ${marker}`,
    `keys: *${marker}`,
    `keys: !${marker} x`,
    `keys: !${marker}!x y`,
    `keys: !<${marker}> y`,
    `keys: |${marker}\n  x`,
    `keys: "\\${marker}"`,
    `keys: 'x' ${marker}`,
    `keys: @${marker}`,
    `keys: a: ${marker}`,
    `- a\n${marker}`,
    `%${marker} x\n---\na: 1`,
    `keys: &a [*a, ${marker}]`,
    `keys:\n  - name: x\n    api_key:${marker}\n`,
    `keys:\n  - name: x\n    api_key:${marker}\n    regions: [us]\n`,
    `keys: [{ name: x, api_key:${marker} }]`,
    `? [${marker}]\n: x`,
    `{ ${marker}: { ${marker}: x }: y }`,
  ])("when the YAML around it is wrong: %j", (text) => {
    const loaded = loadConfig(writeFiles({ "sandwatch.yaml": text }), {});
    expect(loaded.kind).toBe("faulty");
    expect(allOutput(loaded)).not.toContain(marker);
  });
});

describe("the value of a variable is not shown", () => {
  const reference = fc.constantFrom("${V}", "a-${V}", "http://${V}", "${V}${V}");
  const word = fc.oneof(
    { weight: 3, arbitrary: reference },
    { weight: 1, arbitrary: fc.constantFrom("us", "research", "oncall", "server", "5m", "info") },
  );
  const several = fc.array(word, { maxLength: 3 });
  const config = fc.record({
    regions: fc.record({ us: fc.record({ base_url: word, allow_http: word }), eu: word }),
    keys: fc.array(fc.record({ name: word, api_key: word, regions: fc.oneof(several, word) })),
    poll: fc.record({ schedule: word, timeout: word, stale_after: word, max_body: word }),
    http: fc.record({ listen: word }),
    log: fc.record({ level: word, format: word }),
    metrics: fc.record({ per_server: word }),
    alerts: fc.record({
      rules: fc.array(
        fc.record({
          name: word,
          on: fc.constantFrom("server", "target", "${V}"),
          status: word,
          for: word,
          severity: word,
          receivers: several,
          match: fc.record({ region: fc.oneof(word, several), key: several }),
        }),
        { maxLength: 3 },
      ),
      receivers: fc.array(
        fc.record({
          name: word,
          type: fc.constant("webhook"),
          url: word,
          secret: word,
          group_by: several,
        }),
        { maxLength: 3 },
      ),
    }),
  });

  it("wherever it stands and whatever is wrong", () => {
    fc.assert(
      fc.property(config, (value) => {
        const loaded = loadConfig(writeFiles({ "sandwatch.yaml": stringify(value) }), {
          V: marker,
        });
        expect(loaded.kind).toBe("faulty");
        expect(allOutput(loaded)).not.toContain(marker);
      }),
      { numRuns: 60 },
    );
  });
});

describe("loading", () => {
  it("never throws, whatever the file holds", () => {
    const names = fc.constantFrom(
      "regions",
      "keys",
      "alerts",
      "rules",
      "receivers",
      "match",
      "for",
      "x",
    );
    const anything = fc.anything({
      key: names,
      withNullPrototype: true,
      withDate: true,
      maxDepth: 5,
    });
    const whole = fc.record(
      { regions: anything, keys: anything, poll: anything, alerts: anything },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.oneof(whole, anything), (value) => {
        expect(parseConfig(value).kind).toBe("faulty");
      }),
      { numRuns: 300 },
    );
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom(..."[]{}:-&*!|>'\"%@`# \n\tab?,$".split("")) }),
        (text) => {
          expect(loadConfig(writeFiles({ "sandwatch.yaml": text }), {}).kind).toBe("faulty");
        },
      ),
      { numRuns: 100 },
    );
  });
});
