import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import type { Config } from "../../src/config/config.ts";
import { resolveReferences } from "../../src/config/resolve-references.ts";
import { formatFaults, type Path } from "../../src/config/faults.ts";
import { loadConfig, parseConfig, type LoadedConfig } from "../../src/config/load-config.ts";
import type { ConfigOf, ReceiverConfig } from "../../src/config/schema-receivers.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** Writes files into a folder of the test's own and gives the path of the first. */
export function writeFiles(files: Readonly<Record<string, string | Uint8Array>>): string {
  const folder = tempFolder();
  const names = Object.keys(files);
  for (const name of names) writeFileSync(join(folder, name), files[name] ?? "");
  return join(folder, names[0] ?? "");
}

/** Loads a configuration that a file of a given text holds. */
export function loadText(text: string, environment: Record<string, string> = {}): LoadedConfig {
  return loadConfig(writeFiles({ "sandwatch.yaml": text }), environment);
}

export function configOf(loaded: LoadedConfig): Config {
  if (loaded.kind === "faulty") throw new Error(formatFaults("configuration", loaded.faults));
  return loaded.config;
}

/** The lines for a person, without the first one. */
export function faultLines(loaded: LoadedConfig): string[] {
  if (loaded.kind === "ok") return [];
  const [, ...lines] = formatFaults("configuration", loaded.faults).split("\n");
  return lines.map((line) => line.trim());
}

export const signingSecret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

/** The first receiver, which must be of a type. */
export function receiverOf<Type extends ReceiverConfig["type"]>(
  type: Type,
  { alerts }: Config,
): ConfigOf<Type> {
  const isOfType = (each: ReceiverConfig | undefined): each is ConfigOf<Type> =>
    each?.type === type;
  const [receiver] = alerts.receivers;
  if (!isOfType(receiver)) throw new TypeError(`the first receiver is no ${type}`);
  return receiver;
}

const url = "https://a.example.com";
const hold = { polls: 3 };
const flap = { changes: 1, within: "1h" };
const passwordHash = `$scrypt$ln=16,r=8,p=2$${"A".repeat(22)}$${"B".repeat(43)}`;

/** The smallest configuration with each kind of rule and receiver. */
export const everyKind = {
  regions: { us: { base_url: url } },
  keys: [{ name: "research", api_key: "k1" }],
  probes: [{ name: "login", operation: "user", id: "u" }],
  store: { postgres: { url: "postgresql://u@localhost/d" } },
  cluster: { address: url },
  http: {
    auth: {
      tokens: [{ name: "a", role: "metrics", token: "0123456789abcdef" }],
      users: [{ name: "b", role: "viewer", password_hash: passwordHash }],
      proxy: { header: "X-User", trusted: ["10.0.0.0/8"] },
    },
    tls: { certificate_file: "tls.crt", key_file: "tls.key" },
  },
  alerts: {
    rules: [
      {
        name: "a",
        on: "server",
        status: "error",
        for: hold,
        flap,
        receivers: ["a"],
        escalate: [{ after: "15m", receivers: ["d"] }],
      },
      { name: "b", on: "target", failing: hold, flap },
      { name: "c", on: "target", auth: hold, flap },
      { name: "p", on: "target", partial: hold, flap },
      { name: "d", on: "probe", failing: hold, flap },
      ...["occupied_ratio", "error_ratio", "idle", "servers"].flatMap((measure) => [
        { name: `${measure}-above`, on: "pool", [measure]: { above: 0 } },
        { name: `${measure}-below`, on: "pool", [measure]: { below: 1 } },
      ]),
      { name: "r", on: "region", failing: hold, flap },
      { name: "s", on: "sandbox", status: "error", for: hold, flap },
    ],
    receivers: [
      { name: "a", type: "webhook", url, match: { rule: "*" } },
      { name: "b", type: "slack", url },
      { name: "c", type: "pagerduty", routing_key: "0".repeat(32) },
      { name: "d", type: "alertmanager", urls: [url] },
      { name: "e", type: "heartbeat", url, basic_auth: { username: "u", password: "p" } },
      { name: "f", type: "discord", url },
      { name: "g", type: "teams", url },
      { name: "h", type: "telegram", bot_token: "1:a", chat_id: -1 },
      {
        name: "i",
        type: "ntfy",
        topic: "a",
        basic_auth: { username: "u", password: "p" },
      },
      {
        name: "j",
        type: "email",
        host: "localhost",
        auth: { username: "u", password: "p" },
        from: "a@example.com",
        to: ["b@example.com"],
      },
      { name: "k", type: "slack_app", token: "xoxb-1", channel: "C0123456789" },
    ].map((each) => (each.type === "heartbeat" ? each : { ...each, hours: { open: ["mon-fri"] } })),
    escalate: [{ after: "1h", receivers: ["k"] }],
    maintenance: [
      { name: "a", start: "0 2 * * *", duration: "1h", match: { rule: "*", key: "*" } },
    ],
  },
  reports: [{ name: "a", schedule: "weekly", receivers: ["a"] }],
};

/** The cases of `faults.txt`: of what the JSON Schema knows, too, and of what only sandwatch knows. */
export const faultCases = readFileSync(join(import.meta.dirname, "faults.txt"), "utf8")
  .split("\n\n")
  .map((part) => Array.from(part.matchAll(/^([^ #]*):(?: (.+))?\n {2}(.+)$/gm), readFaultCase));

function readFaultCase([, path = "", json, fault = ""]: RegExpExecArray) {
  const value: unknown = json && JSON.parse(json);
  return { path, value, fault };
}

/** The configuration of each kind with another value at a path such as `keys[0].name`. */
export function parseWith(path: string, value: unknown): LoadedConfig {
  return parseConfig(withAt(everyKind, pathOf(path), value));
}

export function pathOf(text: string): Path {
  const parts = text.matchAll(/\[(\d+)\]|([^.[\]]+)/g);
  return Array.from(parts, ([, index, name = ""]) => (index ? Number(index) : name));
}

export const configFolder = join(import.meta.dirname, "../../config");

/** The variables that the example names. */
export const exampleEnvironment = {
  US_BASE_URL: "https://us.example.com",
  EU_BASE_URL: "https://eu.example.com",
  RESEARCH_API_KEY: "k1",
  ONCALL_WEBHOOK_URL: "https://hooks.example.com/x",
  ONCALL_WEBHOOK_SECRET: signingSecret,
  SLACK_WEBHOOK_URL: "https://slack.example.com/x",
  SLACK_TOKEN: "xoxb-1",
  SLACK_APP_TOKEN: "xapp-1",
  DISCORD_WEBHOOK_URL: "https://discord.com/api/webhooks/1/x",
  TEAMS_WORKFLOW_URL: "https://teams.example.com/x",
  TELEGRAM_BOT_TOKEN: "123456:ABC-DEF",
  NTFY_TOPIC: "sandwatch-x",
  SMTP_PASSWORD: "x",
  PAGERDUTY_ROUTING_KEY: "0123456789abcdef0123456789abcdef",
  PAGERDUTY_WEBHOOK_SECRET: "0123456789abcdef0123456789abcdef",
  METRICS_TOKEN: "0123456789abcdef",
  ANN_PASSWORD_HASH: passwordHash,
  HEARTBEAT_URL: "https://heartbeat.example.com/x",
};

/** The example with every setting, its variables replaced. */
export function wholeExample(): unknown {
  const text = readFileSync(join(configFolder, "sandwatch.example.yaml"), "utf8");
  return resolveReferences(parse(text), exampleEnvironment, configFolder).value;
}

/** The paths of a value and of all within. */
export function pathsIn(value: unknown, path: Path = []): readonly Path[] {
  if (typeof value !== "object" || value === null) return [path];
  const parts: readonly [string | number, unknown][] = Array.isArray(value)
    ? value.map((item: unknown, index) => [index, item])
    : Object.entries(value);
  return [path, ...parts.flatMap(([name, part]) => pathsIn(part, [...path, name]))];
}

/** The value with something else at the path; undefined: with nothing there. */
export function withAt(value: unknown, [first, ...rest]: Path, change: unknown): unknown {
  if (first === undefined) return change;
  if (Array.isArray(value)) {
    const at = Number(first);
    if (rest.length === 0 && change === undefined) return value.toSpliced(at, 1);
    return value.map((item: unknown, index) => (index === at ? withAt(item, rest, change) : item));
  }
  const entries = new Map<string, unknown>(Object.entries(value ?? {}));
  const changed = withAt(entries.get(String(first)), rest, change);
  if (changed === undefined) entries.delete(String(first));
  else entries.set(String(first), changed);
  return Object.fromEntries(entries);
}
