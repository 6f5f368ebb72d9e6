import { signingSecret } from "./support.ts";

/**
 * A path in the configuration of each kind, what stands there, and the fault that follows: its
 * path, if it is another one, what was found and what is allowed.
 */
export type Faulty = readonly [path: string, value: unknown, fault: string, at?: string];

const hidden = "a value that is not shown";
const name = "a name of at most 63 letters, digits, _ . -";
const baseUrl = "an https address without user, password, query and fragment, such as";
const hold = "a duration such as 30s or 1h30m, or { polls: 3 }";
const kept = "a duration such as 400d, from 1d to 36500d, or forever";
const network = "a network such as 10.0.0.0/8 or fd00::/8, or one address";
const must = "a value to be equal to, { present: true } or { absent: true }";
const status = "an HTTP status from 200 to 499, except 429";
const cron =
  "a cron expression, preferably of six fields with seconds first, such as */30 * * * * *";
const start = "a cron expression of five fields, or six with seconds first, such as 0 2 * * SUN";
const apiKey =
  "an API key of visible ASCII characters without blanks (numbers quoted), or api_key_file instead";
const placeholders =
  "text with placeholders among {count}, {rule}, {severity}, {condition}, {region}, {key}, {sandbox_id}, {server_id}, {server_name}, {probe}, {status}, {previous_status}";
const trouble =
  "one of failing (any failure), auth (a refused key) and partial (partial listings), such as { polls: 3 }";
const measure =
  "one of occupied_ratio, idle, error_ratio, servers, such as occupied_ratio: { above: 0.9 }";
const rule = "alerts.rules[0]";
const pool = { name: "x", on: "pool" };
const signature = "whsec_ and 24 to 64 bytes in padded base64, or secret_file instead";

/** What the JSON Schema knows, too. */
export const faulty: readonly Faulty[] = [
  ["", ["x"], "a list; allowed: a mapping"],
  ["", null, "nothing; allowed: a mapping"],
  [
    "pol",
    {},
    'an unknown setting; allowed: regions, keys, poll, probes, store, history, http, log, metrics, alerts; did you mean "poll"?',
  ],
  ["regions", {}, "an empty mapping; allowed: at least one region"],
  [
    "regions.us/1",
    { base_url: "https://x.example" },
    `a name that is not allowed; allowed: ${name}`,
    "regions[a name that is not shown]",
  ],
  ["regions.us.base_url", undefined, `nothing; allowed: ${baseUrl} https://us.example.com/api`],
  [
    "regions.us.base_url",
    "us.example.com",
    `${hidden}; allowed: ${baseUrl} https://us.example.com/api`,
  ],
  ["keys", [], "an empty list; allowed: at least one key"],
  ["keys", { a: "b" }, "a mapping; allowed: a list of keys"],
  ["keys[0].api_key", undefined, `nothing; allowed: ${apiKey}`],
  ["keys[0].api_key", "k1\n", `${hidden}; allowed: ${apiKey}`],
  [
    "keys[0].api_key",
    12345678,
    `${hidden}, which YAML reads as a number: quote it; allowed: ${apiKey}`,
  ],
  ["keys[0].name", 7, `7, which YAML reads as a number: quote it; allowed: ${name}`],
  [
    "keys[0].regions",
    ["us", "us"],
    '"us", which is listed before; allowed: each region once',
    "keys[0].regions[1]",
  ],
  [
    "keys[0].regions",
    [],
    "an empty list; allowed: at least one region; omit the setting for every region",
  ],
  ["poll", null, "nothing; allowed: a mapping"],
  ["poll.schedule", "often", `"often"; allowed: ${cron}`],
  [
    "poll",
    { every: "30s", schedule: "*/30 * * * * *" },
    "schedule as well; allowed: one of the two",
    "poll.every",
  ],
  ["poll.timeout", 10, "10; allowed: a duration such as 30s or 1h30m, from 100ms to 1h"],
  [
    "poll.timout",
    "10s",
    'an unknown setting; allowed: schedule, every, time_zone, timeout, rate_limit, max_body, stale_after, gone_after; did you mean "timeout"?',
  ],
  ["poll.rate_limit.requests", 0, "0; allowed: a whole number from 1 to 1000000"],
  ["poll.stale_after", 1.5, "1.5; allowed: a whole number from 1 to 1000000"],
  [
    "poll.max_body",
    "64 MB",
    '"64 MB"; allowed: a size such as 64MiB, 10MB or 512KiB, from 1KiB to 1GiB',
  ],
  ["store.path", "", "empty text; allowed: the path of a file"],
  ["history.changes", 400, `400; allowed: ${kept}`],
  ["history.1d", "for ever", `"for ever"; allowed: ${kept}; did you mean "forever"?`],
  [
    "http.listen",
    9740,
    "9740; allowed: HOST:PORT, such as 127.0.0.1:9740, [::1]:9740, or :9740 for every interface",
  ],
  [
    "log.level",
    "wran",
    '"wran"; allowed: trace, debug, info, warn, error, fatal, silent; did you mean "warn"?',
  ],
  ["metrics.per_server", "some", '"some"; allowed: true or false'],
  [
    "probes[0].operation",
    "usr",
    '"usr"; allowed: user, universes, universe-data, white-label, sandboxes; did you mean "user"?',
  ],
  [
    "probes[0].id",
    "..",
    '".."; allowed: an id of at most 512 characters (numbers quoted), other than . and ..',
  ],
  ["probes[0].expect.status", 429, `429; allowed: ${status}`],
  ["probes[0].expect.status", "abc", `"abc"; allowed: ${status}`],
  [
    "probes[0].expect.fields",
    { "a..b": 1 },
    "1; allowed: a path to a field, such as data.plans.0.name (\\. for a dot in a name)",
    'probes[0].expect.fields["a..b"]',
  ],
  ["probes[0].expect.fields.a", { present: false }, `a mapping; allowed: ${must}`],
  ["probes[0].expect.fields.a", [1], `a list; allowed: ${must}`],
  [`${rule}.on`, undefined, "nothing; allowed: server, target, pool or probe"],
  [`${rule}.on`, "region", '"region"; allowed: server, target, pool or probe'],
  [rule, "text", "text; allowed: a mapping"],
  [
    `${rule}.status`,
    "erorr",
    '"erorr"; allowed: idle, occupied, error, unknown; did you mean "error"?',
  ],
  [
    `${rule}.failing`,
    "1m",
    "an unknown setting; allowed: name, on, severity, status, for, flap, match, summary, runbook_url, keep_firing_for, remind_every, receivers",
  ],
  ["alerts.rules[1].failing", undefined, `nothing; allowed: ${trouble}`],
  ["alerts.rules[1].auth", "1m", `a mapping; allowed: ${trouble}`, "alerts.rules[1].failing"],
  ["alerts.rules[4].failing", undefined, `nothing; allowed: ${hold}`],
  [`${rule}.for`, "10 parrots", `"10 parrots"; allowed: ${hold}`],
  [`${rule}.for`, { polls: 0 }, `a mapping; allowed: ${hold}`],
  [`${rule}.summary`, "{server} is down", `"{server} is down"; allowed: ${placeholders}`],
  [
    `${rule}.runbook_url`,
    "https://wiki{server_name}/x",
    `${hidden}; allowed: an https or http address, its host without placeholders; ${placeholders}`,
  ],
  [`${rule}.severity`, "page", '"page"; allowed: critical, warning, info'],
  [
    `${rule}.match.server_name`,
    ["git", 12306],
    "12306, which YAML reads as a number: quote it; allowed: a name or a list of names, with * for any characters (numbers quoted)",
    `${rule}.match.server_name[1]`,
  ],
  [
    `${rule}.receivers`,
    ["a", "a"],
    '"a", which is listed before; allowed: each receiver once',
    `${rule}.receivers[1]`,
  ],
  [rule, pool, `a mapping; allowed: ${measure}`],
  [rule, { ...pool, idle: { below: 1 }, servers: { below: 1 } }, `a mapping; allowed: ${measure}`],
  [
    "alerts.rules[5].occupied_ratio",
    { above: 0.5, below: 0.9 },
    "a mapping; allowed: { above: ... } or { below: ... }",
  ],
  ["alerts.rules[5].occupied_ratio.above", 1, "1; allowed: a ratio below 1"],
  ["alerts.rules[12].servers.below", 0, "0; allowed: a whole number of at least 1"],
  ["alerts.rules[9].idle.above", 0.5, "0.5; allowed: a whole number of at least 0"],
  [
    "alerts.rules[5].by",
    ["region", "tag"],
    "a list; allowed: one or a list of region, key, server_name, each once",
  ],
  [
    "alerts.receivers[0].type",
    "pigeon",
    '"pigeon"; allowed: webhook, slack, pagerduty, alertmanager, heartbeat',
  ],
  ...["whsec_", `${signingSecret}=`, signingSecret.replace("=", ""), "whsec_!!!"].map(
    (secret): Faulty => ["alerts.receivers[0].secret", secret, `${hidden}; allowed: ${signature}`],
  ),
  [
    "alerts.receivers[0].group_by",
    ["rule", "regoin"],
    '"regoin"; allowed: rule, region, key, sandbox_id, server_name, probe, incident; did you mean "region"?',
    "alerts.receivers[0].group_by[1]",
  ],
  [
    "alerts.receivers[0]",
    { name: "a", type: "webhook", url: "https://x.example", format: "sandwatch", body: {} },
    '"sandwatch"; allowed: format or body, not both',
    "alerts.receivers[0].format",
  ],
  ["alerts.receivers[0].body", "{summary}", `${hidden}; allowed: a mapping or a list`],
  [
    "alerts.receivers[1].secret_fiel",
    "x",
    "an unknown setting; allowed: name, type, url, allow_http, group_by, group_wait, group_interval, merge_above, send_resolved, send_acknowledged, max_incidents, give_up_after, url_file",
  ],
  ["alerts.receivers[1].max_incidents", 101, "101; allowed: a whole number from 1 to 100"],
  [
    "alerts.receivers[2].routing_key",
    "0123456789abcdef",
    `${hidden}; allowed: an integration key of 32 characters without blanks, or routing_key_file instead`,
  ],
  [
    "alerts.receivers[3].urls",
    "https://am.example.com",
    "text; allowed: a list of the addresses of all instances",
  ],
  [
    "alerts.receivers[3].urls[0]",
    "https://am.example.com/?x",
    `${hidden}; allowed: ${baseUrl} https://alertmanager.example.com`,
  ],
  [
    "alerts.receivers[3].bearer_token",
    "a b",
    `${hidden}; allowed: a token of visible ASCII characters without blanks (numbers quoted), or bearer_token_file instead`,
  ],
  ["alerts.receivers[4].method", "PUT", '"PUT"; allowed: GET, POST'],
  ["alerts.maintenance[0].start", "sundays", `"sundays"; allowed: ${start}`],
  ["alerts.maintenance[0].start", "@daily", `"@daily"; allowed: ${start}`],
  [
    "alerts.maintenance[0].match",
    {},
    "an empty mapping; allowed: at least one field; otherwise everything would be silenced",
  ],
  ["alerts.maintenance[0].match.severity", "fatal", '"fatal"; allowed: critical, warning, info'],
  [
    "alerts.outbound.deny_networks",
    ["example.com"],
    `"example.com"; allowed: ${network}`,
    "alerts.outbound.deny_networks[0]",
  ],
  ["alerts.outbound.deny_networks", "10.0.0.0/8", "text; allowed: a list of networks"],
];
