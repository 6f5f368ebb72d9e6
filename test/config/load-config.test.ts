import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadConfig } from "../../src/config/load-config.ts";
import { runCommand } from "../support/run-command.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { configFolder, configOf, exampleEnvironment, faultLines, loadText } from "./support.ts";
import { receiverOf, signingSecret, writeFiles } from "./support.ts";

const region = 'regions: { us: { base_url: "https://us.example.com" } }\n';
const key = "keys: [{ name: research, api_key: k1 }]\n";
const receiver = (settings: string): string => `${key}alerts: { receivers: [{ ${settings} }] }\n`;

describe("the example", () => {
  const file = join(configFolder, "sandwatch.example.yaml");

  it("is a configuration", () => {
    const config = configOf(loadConfig(file, exampleEnvironment));
    expect(config.keys[0]?.apiKey.reveal()).toBe("k1");
    expect(receiverOf("webhook", config).secret?.reveal()).toBe(signingSecret);
    const types = config.alerts.receivers.map(({ type }) => type).join(" ");
    expect(types).toBe(
      "webhook slack slack_app discord teams telegram ntfy email pagerduty alertmanager heartbeat",
    );
  });

  it("names every variable that is missing, and where", () => {
    const lines = faultLines(loadConfig(file, { EU_BASE_URL: "https://eu.example.com" }));
    const why = ", which is not set or empty; allowed: an environment variable that is set";
    expect(lines.map((line) => line.replace(/^\d+:/, "").replace(why, ""))).toEqual([
      "9 regions.us.base_url: found ${US_BASE_URL}",
      "5 keys[0].api_key: found ${RESEARCH_API_KEY}",
      "9 http.auth.tokens[0].token: found ${METRICS_TOKEN}",
      "9 http.auth.users[0].password_hash: found ${ANN_PASSWORD_HASH}",
      "7 alerts.receivers[0].url: found ${ONCALL_WEBHOOK_URL}",
      "7 alerts.receivers[0].secret: found ${ONCALL_WEBHOOK_SECRET}",
      "7 alerts.receivers[1].url: found ${SLACK_WEBHOOK_URL}",
      "7 alerts.receivers[2].token: found ${SLACK_TOKEN}",
      "7 alerts.receivers[2].app_token: found ${SLACK_APP_TOKEN}",
      "7 alerts.receivers[3].url: found ${DISCORD_WEBHOOK_URL}",
      "7 alerts.receivers[4].url: found ${TEAMS_WORKFLOW_URL}",
      "7 alerts.receivers[5].bot_token: found ${TELEGRAM_BOT_TOKEN}",
      "7 alerts.receivers[6].topic: found ${NTFY_TOPIC}",
      "36 alerts.receivers[7].auth.password: found ${SMTP_PASSWORD}",
      "7 alerts.receivers[8].routing_key: found ${PAGERDUTY_ROUTING_KEY}",
      "7 alerts.receivers[8].webhook_secret: found ${PAGERDUTY_WEBHOOK_SECRET}",
      "7 alerts.receivers[10].url: found ${HEARTBEAT_URL}",
    ]);
  });

  it("can be read where no secret is at hand, as for tests of rules", () => {
    const { probes, keys } = configOf(loadConfig(file, {}, { withoutSecrets: true }));
    expect([probes.length, keys.length]).toEqual([3, 1]);
  });
});

describe("environment variables", () => {
  it("are replaced after the YAML was read, so they cannot be taken for YAML", () => {
    const path = "}, http: {listen: ':1'}";
    const { store, http } = configOf(
      loadText(`${region}${key}store: { path: "\${P}/x" }`, { P: path }),
    );
    expect([store.path, http.port]).toEqual([`${path}/x`, 9740]);
  });

  it("may be several in one value, are not looked for in values, and are escaped by a second $", () => {
    const loaded = loadText(`${region}${key}store: { path: "\${A}-\${B}-$\${A}-$A" }`, {
      A: "${B}",
      B: "2",
    });
    expect(configOf(loaded).store.path).toBe("${B}-2-${A}-$A");
  });

  it.each(["${", "${}", "${A", "${A-B}", "${1}", "${A }"])("must be named: %j", (text) => {
    const environment = { A: "x", "A-B": "y", "1": "z" };
    expect(faultLines(loadText(`${region}${key}store: { path: "${text}" }`, environment))).toEqual([
      "3:10 store.path: found ${ without the name of a variable; allowed: ${NAME} for an environment variable, $${ for the characters themselves",
    ]);
  });

  it("are missing when empty, and when only every object has them", () => {
    const loaded = loadText(`${region}${key}store: { path: "\${A}\${constructor}" }`, { A: "" });
    expect(faultLines(loaded)).toHaveLength(2);
  });

  it("are named in faults instead of their value", () => {
    const text = `${region}${key}poll: { timeout: "\${A}" }\nlog: { level: "\${A}x" }`;
    expect(faultLines(loadText(text, { A: "inf" }))).toEqual([
      "3:9 poll.timeout: found the value of ${A}; allowed: a duration such as 30s or 1h30m, from 100ms to 1h",
      expect.stringContaining("4:8 log.level: found the value of ${A}; allowed: trace, debug"),
    ]);
  });
});

describe("secret files", () => {
  const keyFile = `${region}keys: [{ name: research, api_key_file: key }]\n`;

  it("are read from the configuration's folder, without the line break at their end", () => {
    const webhook = `{ name: o, type: webhook, url_file: ./url, secret_file: "\${DIR}/secret" }`;
    const file = writeFiles({
      "sandwatch.yaml": `${keyFile}alerts: { receivers: [${webhook}] }`,
      key: "k2\r\n",
      url: "https://hooks.example.com/x\n",
      secret: `${signingSecret}\n\n`,
    });
    const config = configOf(loadConfig(file, { DIR: dirname(file) }));
    expect(config.keys[0]?.apiKey.reveal()).toBe("k2");
    expect(receiverOf("webhook", config).url.reveal()).toBe("https://hooks.example.com/x");
    expect(receiverOf("webhook", config).secret?.reveal()).toBe(signingSecret);
  });

  it.each([
    ["missing", "a file that cannot be used, looked for in FOLDER: it does not exist"],
    ["/nowhere/missing", "a file that cannot be used: it does not exist"],
    ["${DIR}/missing", "a file that cannot be used: it does not exist"],
    ["folder", "a file that cannot be used, FOLDER/folder: it is a directory"],
    ["empty", "an empty file, FOLDER/empty"],
    ["long", "a file that cannot be used, FOLDER/long: it is larger than 65536 bytes"],
    ["binary", "a file that cannot be used, FOLDER/binary: it is not UTF-8 text"],
    // It might never end.
    ["/dev/zero", "a file that cannot be used, /dev/zero: it is a device"],
  ])("that cannot be used are one fault with the reason: %s", (name, why) => {
    const file = writeFiles({
      "sandwatch.yaml": `${region}${receiver(`name: o, type: slack, url_file: "${name}"`)}`,
      empty: "\n",
      long: "x".repeat(65_537),
      binary: Uint8Array.of(0xff),
    });
    const folder = dirname(file);
    mkdirSync(join(folder, "folder"));
    const found = why.replace("FOLDER", folder);
    expect(faultLines(loadConfig(file, { DIR: folder }))).toEqual([
      `3:47 alerts.receivers[0].url_file: found ${found}; allowed: the path of a text file that contains only the secret`,
    ]);
  });

  it("with a wrong content are faults of the setting that was written", () => {
    const loaded = loadConfig(writeFiles({ "sandwatch.yaml": keyFile, key: "two words" }), {});
    expect(faultLines(loaded)).toEqual([
      expect.stringContaining("2:26 keys[0].api_key_file: found the content of the file; allowed:"),
    ]);
  });

  it("stand instead of the secret, not beside it", () => {
    const both = `${region}keys: [{ name: research, api_key: k1, api_key_file: key }]`;
    expect(faultLines(loadConfig(writeFiles({ "sandwatch.yaml": both, key: "k2" }), {}))).toEqual([
      "2:39 keys[0].api_key_file: found api_key as well; allowed: one of the two",
    ]);
  });
});

it("names the setting of a TLS file that cannot be read, but not what stands there", () => {
  const tls = `http: { tls: { certificate_file: sk-4d1e, key_file: sk-5e2f, client_ca_file: . } }\n`;
  const allowed = "the path of a file in PEM, from the configuration's folder";
  expect(faultLines(loadText(`${region}${key}${tls}`))).toEqual([
    `3:16 http.tls.certificate_file: found a file that cannot be used: it does not exist; allowed: ${allowed}`,
    `3:43 http.tls.key_file: found a file that cannot be used: it does not exist; allowed: ${allowed}`,
    `3:62 http.tls.client_ca_file: found a file that cannot be used: it is a directory; allowed: ${allowed}`,
  ]);
});

describe("the file", () => {
  const long = `regions: { us: &r { base_url: "https://x.example.com" }, eu: { <<: *r } }\n${key}`;
  const unquoted = "regions:\n  us: { base_url: ${A} }\n  eu: { base_url: ${B} }";
  const repeated = "alerts: { rules: [&r { name: a, on: server, status: eror }, *r] }";

  it.each<[string, string, string]>([
    ["nothing", "", "found nothing; allowed: a mapping"],
    [
      "a quote left open",
      "a: 'x",
      "1:6: found something that is not closed or not separated; allowed",
    ],
    [
      "a brace left open",
      `${region}poll: { every: 5s\n${key}`,
      "3:1: found a line with another indentation than those that it belongs to, or { or [ that is not closed before it",
    ],
    ["a tab", `${region}keys:\n\t- a`, "3:1: found a tab as indentation"],
    ["an alias for nothing", `${region}keys: *x`, "2:7: found an alias (*) without its anchor (&)"],
    ["a merge key", long, "1:64: found a merge key (<<); allowed: YAML 1.2, which has none"],
    ["two documents", `${region}---\n${key}`, "2:1: found a second document (---)"],
    [
      "a setting twice",
      `${region}${key}${key}poll: 1`,
      "3:1: found a setting that was given before",
    ],
    ["a tag", `${region}${key}store: !x { path: a }`, "3:8: found an unknown tag (!)"],
    [
      "a reference without quotes between braces",
      unquoted,
      "2:20: found something that does not belong here; allowed: YAML 1.2 (${NAME} needs quotes between { } or [ ])",
    ],
    [
      "an alias for itself",
      `&a\n${region}keys: *a`,
      "3:7: found an alias of a part that contains it",
    ],
    [
      "an alias that repeats what is wrong",
      `${region}${key}${repeated}`,
      '3:45 alerts.rules[0].status: found "eror"',
    ],
  ])("with %s has one fault", (_title, text, start) => {
    expect(faultLines(loadText(text))).toEqual([expect.stringContaining(start)]);
  });

  it("may hold anchors and aliases", () => {
    const text = `regions: { us: &r { base_url: "https://x.example.com" }, eu: *r }\n${key}`;
    expect([...configOf(loadText(text)).regions.keys()]).toEqual(["us", "eu"]);
  });

  it("may begin with a byte order mark, and keeps a region with a name that every object has", () => {
    const loaded = loadText(
      `\uFEFFregions: { __proto__: { base_url: "https://a.example" } }\n${key}`,
    );
    expect([...configOf(loaded).regions.keys()]).toEqual(["__proto__"]);
  });

  it("is faulty when it cannot be read", () => {
    for (const [file, why] of [
      [tempFolder(), "it is a directory"],
      [join(tempFolder(), "none.yaml"), "it does not exist"],
    ] as const) {
      expect(faultLines(loadConfig(file, {}))).toEqual([
        `found a file that cannot be used: ${why}; allowed: a configuration in YAML`,
      ]);
    }
  });

  it("takes the log's format from the caller where it names none", () => {
    const formatOf = (text: string) =>
      configOf(loadConfig(writeFiles({ "sandwatch.yaml": text }), {}, { logFormat: "pretty" })).log
        .format;
    expect(formatOf(region + key)).toBe("pretty");
    expect(formatOf(`${region}${key}log: { format: json }`)).toBe("json");
  });

  it("is refused by check-config with the line and column of each fault", async () => {
    const file = writeFiles({
      "sandwatch.yaml": `${region}${key}poll:\n  schedule: "60 * * * * *"\n`,
    });
    const { code, err } = await runCommand(["check-config", "--config", file]);
    expect(code).toBe(2);
    expect(err).toContain("4:3 poll.schedule: found a value that is not shown; allowed: ");
  });
});

describe("text without quotes that YAML reads as something else", () => {
  it.each<[string, (value: string) => string]>([
    ["keys[0].name", (value) => `keys: [{ name: ${value}, api_key: k1 }]`],
    ["keys[0].api_key", (value) => `keys: [{ name: research, api_key: ${value} }]`],
    ["store.path", (value) => `${key}store: { path: ${value} }`],
    ["probes[0].id", (value) => `${key}probes: [{ name: a, operation: user, id: ${value} }]`],
  ])("at %s is one fault, which says to quote it", (path, write) => {
    for (const [value = "", says = ""] of [
      ["123", ", which YAML reads as a number: quote it;"],
      ["1.10", ", which YAML reads as a number: quote it;"],
      ["true", ", which YAML reads as a boolean: quote it;"],
      ["null", "found nothing (an empty value, or null without quotes); allowed: "],
    ]) {
      const lines = faultLines(loadText(`${region}${write(value)}`));
      expect(lines).toEqual([expect.stringContaining(says)]);
      expect(lines[0]).toContain(` ${path}: found `);
    }
  });

  it("does not concern what YAML reads as text, as a date", () => {
    const text = `${region}keys: [{ name: 2026-11-20, api_key: k1 }]`;
    expect(faultLines(loadText(text))).toEqual([]);
  });
});

describe("a placeholder in the place of a secret", () => {
  const tokens = (token: string) =>
    `${region}${key}http: { auth: { tokens: [{ name: pager, role: admin, ${token} }] } }\n`;

  it.each([
    "replace-me-operator-token",
    "postgresql-Replace_Me-please",
    "changeme-changeme",
    "change-this-to-a-secret",
    "your-secret-token-here",
    "<the-token-of-the-pager>",
    "xxxxxxxxxxxxxxxx",
  ])("such as %s is refused", (text) => {
    const found = "http.auth.tokens[0].token: found the value of ${TOKEN}, which is a placeholder";
    const loaded = loadText(tokens('token: "${TOKEN}"'), { TOKEN: text });
    expect(faultLines(loaded)).toEqual([
      expect.stringContaining(`${found}; allowed: a value of your own`),
    ]);
  });

  it("is refused in a file and in other settings", () => {
    const file = writeFiles({
      "sandwatch.yaml": tokens("token_file: token"),
      token: "replace-me-operator-token\n",
    });
    expect(faultLines(loadConfig(file, {}))).toEqual([
      expect.stringContaining(
        "tokens[0].token_file: found the content of the file, which is a placeholder",
      ),
    ]);
    const apiKey = loadText(`${region}keys: [{ name: research, api_key: "..." }]\n`, {});
    expect(faultLines(apiKey)).toEqual([
      expect.stringContaining("keys[0].api_key: found a value,"),
    ]);
  });

  it.each([
    "irreplaceable-mechanism",
    "exchange-mesh-16-or-more",
    "yours-is-not-a-tokens",
    "xxxx-1234-5678-9abc",
  ])("is not %s", (token) => {
    expect(loadText(tokens(`token: ${token}`), {}).kind).toBe("ok");
  });
});
