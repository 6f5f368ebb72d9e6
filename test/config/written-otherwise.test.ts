import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load-config.ts";
import { faultLines, writeFiles } from "./support.ts";

const region = 'regions: { us: { base_url: "https://us.example.com" } }\n';
const key = "keys: [{ name: research, api_key: k1 }]\n";

function linesOf(text: string, environment: Record<string, string> = {}): string[] {
  return faultLines(loadConfig(writeFiles({ "sandwatch.yaml": text }), environment));
}

const receiver = (settings: string): string => `${key}alerts: { receivers: [{ ${settings} }] }\n`;

/** Each setting that is a name or another text, with a value without quotes. */
const texts: readonly (readonly [string, (value: string) => string])[] = [
  ["keys[0].name", (value) => `keys: [{ name: ${value}, api_key: k1 }]`],
  ["keys[0].api_key", (value) => `keys: [{ name: research, api_key: ${value} }]`],
  ["keys[0].regions[0]", (value) => `keys: [{ name: a, api_key: k1, regions: [${value}] }]`],
  ["store.path", (value) => `${key}store: { path: ${value} }`],
  [
    "probes[0].name",
    (value) => `${key}probes: [{ name: ${value}, operation: universes, every: 1m }]`,
  ],
  [
    "probes[0].id",
    (value) => `${key}probes: [{ name: a, operation: user, id: ${value}, every: 1m }]`,
  ],
  [
    "alerts.receivers[0].name",
    (value) => receiver(`name: ${value}, type: slack, url: "https://x.example"`),
  ],
  [
    "alerts.rules[0].name",
    (value) => `${key}alerts: { rules: [{ name: ${value}, on: server, status: error }] }`,
  ],
  ...["region", "key", "server_name"].map(
    (field) =>
      [
        `alerts.rules[0].match.${field}`,
        (value: string) =>
          `${key}alerts: { rules: [{ name: a, on: server, status: error, match: { ${field}: ${value} } }] }`,
      ] as const,
  ),
];

describe("text without quotes that YAML reads as something else", () => {
  it.each(texts)("at %s is one fault, which says to quote it", (path, write) => {
    for (const [value, kind] of [
      ["123", "number"],
      ["1.10", "number"],
      ["true", "boolean"],
    ]) {
      const lines = linesOf(`${region}${write(value ?? "")}`);
      expect(lines).toEqual([
        expect.stringContaining(`, which YAML reads as a ${kind}: quote it;`),
      ]);
      expect(lines[0]).toContain(` ${path}: found `);
    }
    expect(linesOf(`${region}${write("null")}`)).toEqual([
      expect.stringContaining(
        `${path}: found nothing (an empty value, or null without quotes); allowed: `,
      ),
    ]);
  });

  it("does not concern what YAML reads as text, as a date", () => {
    expect(linesOf(`${region}keys: [{ name: 2026-11-20, api_key: k1 }]`)).toEqual([]);
  });

  it("is not told to be quoted where quotes would not help", () => {
    const lines = linesOf(`${region}${key}poll: { timeout: 10 }`);
    expect(lines).toEqual([expect.stringContaining("poll.timeout: found 10; allowed: a duration")]);
  });
});

/** Each setting that is read from a file. */
const files: readonly (readonly [string, (path: string) => string])[] = [
  ["keys[0].api_key_file", (path) => `keys: [{ name: a, api_key_file: "${path}" }]`],
  ["alerts.receivers[0].url_file", (path) => receiver(`name: o, type: slack, url_file: "${path}"`)],
  [
    "alerts.receivers[0].secret_file",
    (path) => receiver(`name: o, type: webhook, url: "https://x.example", secret_file: "${path}"`),
  ],
  [
    "alerts.receivers[0].routing_key_file",
    (path) => receiver(`name: o, type: pagerduty, routing_key_file: "${path}"`),
  ],
  [
    "alerts.receivers[0].bearer_token_file",
    (path) =>
      receiver(
        `name: o, type: alertmanager, urls: ["https://x.example"], bearer_token_file: "${path}"`,
      ),
  ],
];

describe("a secret file that cannot be used", () => {
  it.each(files)("at %s is one fault with its path and the reason", (path, write) => {
    const folder = dirname(writeFiles({ "empty.key": "\n" }));
    mkdirSync(join(folder, "folder.key"));
    for (const [name, why] of [
      ["missing.key", `a file that cannot be used, ${folder}/missing.key: it does not exist`],
      ["./missing", `a file that cannot be used, ${folder}/missing: it does not exist`],
      ["/nowhere/missing", "a file that cannot be used, /nowhere/missing: it does not exist"],
      ["${DIR}/missing", "a file that cannot be used, ${DIR}/missing: it does not exist"],
      ["folder.key", `a file that cannot be used, ${folder}/folder.key: it is a directory`],
      ["empty.key/key", `a file that cannot be used, ${folder}/empty.key/key: it does not exist`],
      ["empty.key", `an empty file, ${folder}/empty.key`],
    ] as const) {
      const config = join(folder, "sandwatch.yaml");
      writeFileSync(config, `${region}${write(name)}`);
      const lines = faultLines(loadConfig(config, { DIR: folder }));
      expect(lines).toEqual([expect.stringContaining(`${path}: found ${why}; allowed: `)]);
    }
  });

  it.each([
    "T0PSECRET",
    "/T0PSECRETa1",
    "sk-T0PSECRET/a9Zb3kQ7xW2",
    "/9jT0PSECRETa4/AAQSkZJRgAB",
    "https://hooks.example.com/T0PSECRET",
    "//T0PSECRET/x",
  ])("is not shown where the secret itself may have been given: %s", (secret) => {
    const lines = linesOf(`${region}keys: [{ name: a, api_key_file: "${secret}" }]`);
    expect(lines).toEqual([expect.stringContaining("it does not exist")]);
    expect(lines[0]).not.toContain("T0PSECRET");
  });
});

describe("a fault is told once", () => {
  it("when a reference without quotes leaves the rest of the file without sense", () => {
    const text = `regions:
  us: { base_url: \${US} }
  eu: { base_url: \${EU} }
keys:
  - { name: a, api_key: "a-\${A}" }
  - { name: b, api_key: \${B} }
alerts:
  rules:
    - { name: a, on: server, status: error }
    - { name: b, on: server, status: error }
`;
    expect(linesOf(text)).toEqual([
      "2:20: found something that does not belong here; ${ without quotes is also in lines 3, 6; allowed: YAML 1.2 (${NAME} needs quotes between { } or [ ])",
    ]);
  });

  it("when a variable that is not set stands in many places", () => {
    const keys = Array.from(
      { length: 10 },
      (_, at) => `  - { name: k${at}, api_key: "\${X}${at}" }`,
    );
    expect(linesOf(`${region}keys:\n${keys.join("\n")}`)).toEqual([
      "3:17 keys[0].api_key: found ${X}, which is not set or empty (here and in 9 other places); allowed: an environment variable that is set",
    ]);
  });

  it("when an alias repeats what is wrong", () => {
    const rule = "{ name: a, on: server, status: eror }";
    const lines = linesOf(`${region}${key}alerts: { rules: [&r ${rule}, *r, *r] }`);
    expect(lines.filter((line) => line.includes("eror"))).toHaveLength(1);
  });
});
