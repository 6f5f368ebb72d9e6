import { signingSecret } from "./support.ts";
import type { Faulty } from "./support.ts";

const regions = {
  us: { base_url: "https://us.example.com" },
  eu: { base_url: "https://eu.example.com" },
};
const keys = [{ name: "research", api_key: "k1" }];
const oncall = { name: "oncall", type: "webhook", url: "https://hooks.example.com/x" };
const serverRule = { name: "a", on: "server", status: "error" };
const targetRule = { name: "a", on: "target", failing: "1m" };

const receiver = (settings: object) => ({
  regions,
  keys,
  alerts: { receivers: [{ ...oncall, ...settings }] },
});
const rule = (settings: unknown) => ({
  regions,
  keys,
  alerts: { rules: [settings], receivers: [oncall] },
});
const encrypted = "https, or a loopback address, or allow_http: true beside it";
const hold = "a duration such as 30s or 1h30m, or { polls: 3 }";
const template =
  "text with placeholders among {count}, {rule}, {severity}, {condition}, {region}, {key}, {sandbox_id}, {server_id}, {server_name}, {probe}, {status}, {previous_status}";
const runbook = `an https or http address, its host without placeholders; ${template}`;
const trouble =
  "one of failing (any failure), auth (a refused key) and partial (partial listings), such as { polls: 3 }";
const subjects = "server, target, pool or probe";
const poolRule = { name: "a", on: "pool" };
const measure =
  "one of occupied_ratio, idle, error_ratio, servers, such as occupied_ratio: { above: 0.9 }";
const fields = "one or a list of region, key, server_name, each once";

export const faultyAlerts: readonly Faulty[] = [
  [
    "a rule on nothing",
    rule({ name: "a" }),
    `alerts.rules[0].on: found nothing; allowed: ${subjects}`,
  ],
  [
    "a pool rule without measure",
    rule(poolRule),
    `alerts.rules[0]: found a mapping; allowed: ${measure}`,
  ],
  [
    "a pool rule with two measures",
    rule({ ...poolRule, idle: { below: 1 }, servers: { below: 1 } }),
    `alerts.rules[0]: found a mapping; allowed: ${measure}`,
  ],
  [
    "a pool rule with two limits",
    rule({ ...poolRule, idle: { below: 1, above: 9 } }),
    "alerts.rules[0].idle: found a mapping; allowed: { above: ... } or { below: ... }",
  ],
  [
    "a ratio that no pool can be above",
    rule({ ...poolRule, occupied_ratio: { above: 1 } }),
    "alerts.rules[0].occupied_ratio.above: found 1; allowed: a ratio below 1",
  ],
  [
    "a count that no pool can be below",
    rule({ ...poolRule, servers: { below: 0 } }),
    "alerts.rules[0].servers.below: found 0; allowed: a whole number of at least 1",
  ],
  [
    "a share of a server",
    rule({ ...poolRule, idle: { above: 0.5 } }),
    "alerts.rules[0].idle.above: found 0.5; allowed: a whole number of at least 0",
  ],
  [
    "a pool by what there is not",
    rule({ ...poolRule, idle: { below: 1 }, by: ["region", "tag"] }),
    `alerts.rules[0].by: found a list; allowed: ${fields}`,
  ],
  [
    "a pool by the same twice",
    rule({ ...poolRule, idle: { below: 1 }, by: ["region", "region"] }),
    `alerts.rules[0].by: found a list; allowed: ${fields}`,
  ],
  [
    "a rule that fits no target",
    {
      regions,
      keys: [...keys, { name: "batch", api_key: "k2", regions: ["us"] }],
      alerts: { rules: [{ ...serverRule, match: { region: "eu", key: "b*" } }] },
    },
    "alerts.rules[0].match: found no key in any region that fits; allowed: what fits at least one target",
  ],
  [
    "a text with an unknown placeholder",
    rule({ ...serverRule, summary: "{sever_name} is down" }),
    'alerts.rules[0].summary: found "{sever_name} is down"; allowed: text with placeholders among {count}, {rule}, {severity}, {condition}, {region}, {key}, {sandbox_id}, {server_id}, {server_name}, {probe}, {status}, {previous_status}',
  ],
  [
    "a flapping that never ends",
    rule({ ...serverRule, flap: { changes: 3, within: "0s" } }),
    'alerts.rules[0].flap.within: found "0s"; allowed: a duration such as 30s or 1h30m, at least 1s',
  ],
  [
    "a rule on something else",
    rule({ name: "a", on: "region" }),
    `alerts.rules[0].on: found "region"; allowed: ${subjects}`,
  ],
  ["a rule that is text", rule("text"), "alerts.rules[0]: found text; allowed: a mapping"],
  [
    "an unheard-of status",
    rule({ ...serverRule, status: "erorr" }),
    'alerts.rules[0].status: found "erorr"; allowed: idle, occupied, error, unknown; did you mean "error"?',
  ],
  [
    "a server rule with a target's condition",
    rule({ ...serverRule, failing: "1m" }),
    "alerts.rules[0].failing: found an unknown setting; allowed: name, on, severity, status, for, flap, match, summary, runbook_url, keep_firing_for, remind_every, receivers",
  ],
  [
    "a target rule with a server's condition",
    rule({ ...targetRule, status: "error" }),
    "alerts.rules[0].status: found an unknown setting; allowed: name, on, severity, failing, auth, partial, match, summary, runbook_url, keep_firing_for, remind_every, receivers",
  ],
  [
    "a target rule about servers",
    rule({ ...targetRule, match: { tag: "prod" } }),
    "alerts.rules[0].match.tag: found an unknown setting; allowed: region, key",
  ],
  [
    "a target rule without condition",
    rule({ name: "a", on: "target" }),
    `alerts.rules[0].failing: found nothing; allowed: ${trouble}`,
  ],
  [
    "a target rule with both conditions",
    rule({ ...targetRule, auth: "1m" }),
    `alerts.rules[0].failing: found "1m"; allowed: ${trouble}`,
  ],
  [
    "a duration that is none",
    rule({ ...serverRule, for: "10 parrots" }),
    `alerts.rules[0].for: found "10 parrots"; allowed: ${hold}`,
  ],
  [
    "a summary with a placeholder that there is not",
    rule({ ...serverRule, summary: "{server} is down" }),
    `alerts.rules[0].summary: found "{server} is down"; allowed: ${template}`,
  ],
  [
    "a runbook with a placeholder that there is not",
    rule({ ...serverRule, runbook_url: "https://wiki/{rules}" }),
    `alerts.rules[0].runbook_url: found a value that is not shown; allowed: ${runbook}`,
  ],
  [
    "a runbook whose host comes from the service",
    rule({ ...serverRule, runbook_url: "https://wiki{server_name}/x" }),
    `alerts.rules[0].runbook_url: found a value that is not shown; allowed: ${runbook}`,
  ],
  [
    "no poll at all",
    rule({ ...serverRule, for: { polls: 0 } }),
    `alerts.rules[0].for: found a mapping; allowed: ${hold}`,
  ],
  [
    "an unknown severity",
    rule({ ...serverRule, severity: "page" }),
    'alerts.rules[0].severity: found "page"; allowed: critical, warning, info',
  ],
  [
    "a number to match",
    rule({ ...serverRule, match: { server_name: ["git", 12306] } }),
    "alerts.rules[0].match.server_name[1]: found 12306, which YAML reads as a number: quote it; allowed: a name or a list of names, with * for any characters (numbers quoted)",
  ],
  [
    "an unknown region to match",
    rule({ ...serverRule, match: { region: "use" } }),
    'alerts.rules[0].match.region: found "use"; allowed: the name of a configured region: us, eu; did you mean "us"?',
  ],
  [
    "an unknown key to match",
    rule({ ...targetRule, match: { key: ["r*", "reserch"] } }),
    'alerts.rules[0].match.key[1]: found "reserch"; allowed: the name of a configured key: research; did you mean "research"?',
  ],
  [
    "an unknown receiver",
    rule({ ...serverRule, receivers: ["onkall"] }),
    'alerts.rules[0].receivers[0]: found "onkall"; allowed: the name of a configured receiver: oncall; did you mean "oncall"?',
  ],
  [
    "a receiver twice",
    rule({ ...serverRule, receivers: ["oncall", "oncall"] }),
    'alerts.rules[0].receivers[1]: found "oncall", the same as alerts.rules[0].receivers[0]; allowed: each receiver once',
  ],
  [
    "two rules of one name",
    { regions, keys, alerts: { rules: [serverRule, targetRule] } },
    'alerts.rules[1].name: found "a", the same as alerts.rules[0].name; allowed: a name that no other rule has',
  ],
  [
    "a rule by the name of one that is built in",
    rule({ ...serverRule, name: "receiver-failing" }),
    'alerts.rules[0].name: found "receiver-failing", which is built in; allowed: a name that no other rule has',
  ],
  [
    "a receiver that gives up at once",
    receiver({ give_up_after: "59s" }),
    'alerts.receivers[0].give_up_after: found "59s"; allowed: a duration such as 1m or 1h30m, from 1m to 30d',
  ],
  [
    "a receiver that never gives up",
    receiver({ give_up_after: "31d" }),
    'alerts.receivers[0].give_up_after: found "31d"; allowed: a duration such as 1m or 1h30m, from 1m to 30d',
  ],
  [
    "a receiver of another type",
    receiver({ type: "pigeon", channel: "x" }),
    'alerts.receivers[0].type: found "pigeon"; allowed: webhook, slack, pagerduty, alertmanager, heartbeat',
  ],
  [
    "two receivers of one name",
    { regions, keys, alerts: { receivers: [oncall, oncall] } },
    'alerts.receivers[1].name: found "oncall", the same as alerts.receivers[0].name; allowed: a name that no other receiver has',
  ],
  [
    "a receiver in the clear",
    receiver({ url: "http://hooks.example.com/x" }),
    `alerts.receivers[0].url: found a value that is not shown, which is not encrypted; allowed: ${encrypted}`,
  ],
  [
    "a receiver with a password",
    receiver({ url: "https://u:p@hooks.example.com/x" }),
    "alerts.receivers[0].url: found a value that is not shown; allowed: an https address without user and password, or url_file beside it",
  ],
  ...["whsec_", "whsec_AAAA", `${signingSecret}=`, signingSecret.replace("=", ""), "whsec_!!!"].map(
    (secret): [string, unknown, string] => [
      "a secret that cannot sign",
      receiver({ secret }),
      "alerts.receivers[0].secret: found a value that is not shown; allowed: whsec_ and 24 to 64 bytes in padded base64, or secret_file beside it",
    ],
  ),
  [
    "an unknown field to group by",
    receiver({ group_by: ["rule", "regoin"] }),
    'alerts.receivers[0].group_by[1]: found "regoin"; allowed: rule, region, key, sandbox_id, server_name, probe, incident; did you mean "region"?',
  ],
  [
    "a misspelt secret's file",
    receiver({ secret_fiel: "x" }),
    'alerts.receivers[0].secret_fiel: found an unknown setting; allowed: name, type, url, allow_http, secret, format, body, group_by, group_wait, group_interval, merge_above, send_resolved, send_acknowledged, max_incidents, give_up_after, url_file, secret_file; did you mean "secret_file"?',
  ],
];
