import { inspect } from "node:util";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { formatFaults } from "../../src/config/faults.ts";
import { parseConfig, type LoadedConfig } from "../../src/config/load-config.ts";
import { everyKind, loadText, parseWith, pathOf, signingSecret, withAt } from "./support.ts";

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
  `postgresql://u:${marker}@example.com/d?sslmode=no`,
  `http://example.com/${marker}?${marker}#${marker}`,
  `//${marker}`,
  `whsec_${marker}`,
  `${marker}{sumary}`,
  `/${marker}a1`,
  `sk-${marker}/a9Zb3kQ7xW2`,
  marker.padEnd(32, "0"),
  [marker],
  { [`https://${marker}`]: marker },
  { [`{${marker}}`]: `{${marker}}` },
  [[marker]],
];

describe("a secret is not shown", () => {
  it("when it is right", () => {
    const url = `https://${marker.toLowerCase()}.example.com/${marker}?${marker}`;
    const receivers = [{ name: "oncall", type: "webhook", url, secret: signingSecret }];
    const keys = [{ name: "research", api_key: marker }];
    const loaded = parseConfig({
      ...everyKind,
      keys,
      alerts: { receivers, rules: [] },
      reports: [],
    });
    expect(loaded.kind).toBe("ok");
    expect(allOutput(loaded).toLowerCase()).not.toContain(marker.toLowerCase());
    expect(allOutput(loaded)).not.toContain(signingSecret.slice(6));
  });

  const { regions, keys, alerts, store } = everyKind;
  /** Settings of the receiver of a type, in a configuration with nothing else, so that each can be tried in many ways. */
  const receiver = (type: string, ...settings: readonly string[]) => {
    const receivers = alerts.receivers.filter((each) => each.type === type);
    return of({ alerts: { receivers, rules: [] } }, "alerts.receivers[0]", ...settings);
  };
  const of = (config: object, at: string, ...settings: readonly string[]) =>
    settings.map((name) => ({ path: at + name, config: { regions, keys, ...config } }));

  it.each([
    ...of({}, "keys[0]", ".api_key", ".api_key_file", ".api_kye"),
    ...receiver(
      "webhook",
      ".url",
      ".url_file",
      ".secret",
      ".secret_file",
      ".scret",
      ".body",
      ".headers",
      ".headers_file",
    ),
    ...receiver("slack", ".url"),
    ...receiver("pagerduty", ".routing_key", ".routing_kye"),
    ...receiver("alertmanager", ".urls", ".urls[0]", ".bearer_token"),
    ...receiver(
      "heartbeat",
      ".url",
      ".basic_auth.username",
      ".basic_auth.password",
      ".basic_auth.password_file",
    ),
    ...receiver("discord", ".url"),
    ...receiver("teams", ".url"),
    ...receiver("telegram", ".bot_token", ".bot_tokn"),
    ...receiver("ntfy", ".topic"),
    ...receiver("email", ".auth.password", ".from", ".to"),
    ...receiver("slack_app", ".token"),
    ...["outbound", "regions.us", "alerts.outbound"].flatMap((at) =>
      of({}, at, ".proxy_url", ".proxy_url_file", ".proxy_ulr", ".ca", ".ca_file"),
    ),
    ...of({}, "outbound", ".no_proxy", ".no_proxy[0]"),
    ...of({ store }, "store.postgres", ".url", ".url_file", ".ur"),
  ])("whatever is wrong about $path", ({ path, config }) => {
    // As text, which takes ten times as long, each path has a third of them.
    const third = path.length % 3;
    for (const [at, secret] of wrongSecrets.entries()) {
      const changed = withAt(config, pathOf(path), secret);
      expect(allOutput(parseConfig(changed))).not.toContain(marker);
      if (at % 3 !== third) continue;
      expect(allOutput(loadText(stringify(changed)))).not.toContain(marker);
    }
  });

  it("when it stands where a mapping or a list belongs, or in the address of a region", () => {
    for (const secret of [marker, [marker], { [`k:${marker}`]: null }]) {
      const loaded = parseConfig({ regions: secret, keys: secret, alerts: { receivers: secret } });
      expect(allOutput(loaded)).not.toContain(marker);
    }
    const host = "us.example.com";
    const users = [
      `https://${marker}@${host}`,
      `https://u:${marker}@${host}`,
      `u:${marker}@${host}`,
    ];
    for (const address of [...users, `https://${host}/?${marker}`, `https://${host}/#${marker}`]) {
      const loaded = parseWith("regions.us.base_url", address);
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
    `keys:\n  - name: x\n    api_key:${marker}\n    regions: [us]\n`,
    `keys: [{ name: x, api_key:${marker} }]`,
    `? [${marker}]\n: x`,
    `{ ${marker}: { ${marker}: x }: y }`,
  ])("when the YAML around it is wrong: %j", (text) => {
    const loaded = loadText(text);
    expect(loaded.kind).toBe("faulty");
    expect(allOutput(loaded)).not.toContain(marker);
  });
});

it("the value of a variable is not shown, wherever it stands and whatever is wrong", () => {
  const reference = fc.constantFrom("${V}", "a-${V}", "http://${V}", "${V}${V}");
  const word = fc.oneof(reference, fc.constantFrom("us", "research", "oncall", "server", "5m"));
  const several = fc.array(word, { maxLength: 3 });
  const match = fc.record({ region: fc.oneof(word, several), key: several });
  const rule = { name: word, on: fc.constantFrom("server", "${V}"), status: word, for: word };
  const receiver = { name: word, type: fc.constant("webhook"), url: word, secret: word };
  const config = fc.record({
    regions: fc.record({ us: fc.record({ base_url: word, allow_http: word }), eu: word }),
    keys: fc.array(fc.record({ name: word, api_key: word, regions: fc.oneof(several, word) })),
    poll: fc.record({ schedule: word, timeout: word, stale_after: word, max_body: word }),
    http: fc.record({ listen: word }),
    log: fc.record({ level: word, format: word }),
    metrics: fc.record({ per_server: word }),
    alerts: fc.record({
      rules: fc.array(fc.record({ ...rule, severity: word, receivers: several, match })),
      receivers: fc.array(fc.record({ ...receiver, group_by: several })),
    }),
  });
  fc.assert(
    fc.property(config, (value) => {
      const loaded = loadText(stringify(value), { V: marker });
      expect(loaded.kind).toBe("faulty");
      expect(allOutput(loaded)).not.toContain(marker);
    }),
    { numRuns: 60 },
  );
});

it("loading never throws, whatever the file holds", () => {
  const words = ["regions", "keys", "alerts", "rules", "receivers", "match", "for", "x"];
  const key = fc.constantFrom(...words);
  const anything = fc.anything({ key, withNullPrototype: true, withDate: true, maxDepth: 5 });
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
});
