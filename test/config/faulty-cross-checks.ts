import type { Faulty } from "./faulty.ts";

const hidden = "a value that is not shown";
const encrypted = "https, a loopback address, or http with allow_http: true";
const kept = "a duration such as 400d, from 1d to 36500d, or forever";
const network = "a network such as 10.0.0.0/8 or fd00::/8, or one address";
const cron =
  "a cron expression, preferably of six fields with seconds first, such as */30 * * * * *";
const start = "a cron expression of five fields, or six with seconds first, such as 0 2 * * SUN";
const rule = "alerts.rules[0]";

/** What one setting says of another, what a text means, and how long a duration is. */
export const onlyKnownToSandwatch: readonly Faulty[] = [
  [
    "regions.us.base_url",
    "http://us.example.com",
    `"http://us.example.com", which is not encrypted; allowed: ${encrypted}`,
  ],
  [
    "alerts.receivers[0].url",
    "http://hooks.example.com/x",
    `${hidden}, which is not encrypted; allowed: ${encrypted}`,
  ],
  [
    "alerts.receivers[3].urls",
    ["https://am.example.com", "http://am.example.com"],
    `${hidden}, which is not encrypted; allowed: ${encrypted}`,
    "alerts.receivers[3].urls[1]",
  ],
  [
    "alerts.receivers[0].url",
    "https://u:p@hooks.example.com/x",
    `${hidden}; allowed: an https address without user and password, or url_file instead`,
  ],
  ["history.5m", "23h", `"23h"; allowed: ${kept}`],
  ["poll.every", "999ms", '"999ms"; allowed: a duration such as 30s or 1h30m, from 1s to 7d'],
  [`${rule}.flap.within`, "0s", '"0s"; allowed: a duration such as 30s or 1h30m, at least 1s'],
  [
    "alerts.receivers[0].give_up_after",
    "59s",
    '"59s"; allowed: a duration such as 1m or 1h30m, from 1m to 30d',
  ],
  ["poll.schedule", "99 * * * * *", `"99 * * * * *"; allowed: ${cron} (wrong here: second)`],
  ["probes[0].schedule", "* 24 * * *", `"* 24 * * *"; allowed: ${cron} (wrong here: hour)`],
  [
    "alerts.maintenance[0].start",
    "0 2 31 2 *",
    `"0 2 31 2 *"; allowed: ${start}; there is no such day`,
  ],
  [
    "poll.time_zone",
    "Europe/Berlim",
    '"Europe/Berlim"; allowed: the name of a time zone, such as Europe/Berlin or UTC; did you mean "Europe/Berlin"?',
  ],
  [
    "alerts.outbound.deny_networks",
    ["10.1.2.3/8"],
    `"10.1.2.3/8"; allowed: ${network}`,
    "alerts.outbound.deny_networks[0]",
  ],
  [
    "alerts.outbound.allow_networks",
    ["169.254.169.254"],
    `"169.254.169.254"; allowed: ${network}, that is not always denied (link-local, multicast, metadata services)`,
    "alerts.outbound.allow_networks[0]",
  ],
  [
    "alerts.receivers[0].body",
    { blocks: [{ text: "{sumary}" }] },
    `${hidden}; allowed: text with placeholders among {type}, {id}, {summary}, {runbook_url}, {count}, {rule}, {severity}, {region}, {key}, {sandbox_id}, {server_id}, {server_name}, {probe}, {status}, {previous_status}`,
    "alerts.receivers[0].body.blocks[0].text",
  ],
  ["probes[0].id", undefined, "nothing; allowed: the id that user asks for"],
  [
    "probes[0].operation",
    "universes",
    '"u"; allowed: nothing: universes takes no id',
    "probes[0].id",
  ],
  ["probes[0].expect.success", true, "true; allowed: nothing: it is for operation white-label"],
  ["probes[0].expect.at_least", 1, "1; allowed: nothing: it is for operation universes, sandboxes"],
  [
    "probes[0].expect",
    { status: 404, fields: { a: 1 } },
    "a mapping; allowed: no other expectation with a status other than 200",
    "probes[0].expect.fields",
  ],
  [
    "keys[0].regions",
    ["use"],
    '"use"; allowed: the name of a configured region: us; did you mean "us"?',
    "keys[0].regions[0]",
  ],
  [
    "probes[0].keys",
    ["reserch"],
    '"reserch"; allowed: the name of a configured key: research; did you mean "research"?',
    "probes[0].keys[0]",
  ],
  [
    `${rule}.match.key`,
    ["r*", "reserch"],
    '"reserch"; allowed: the name of a configured key: research; did you mean "research"?',
    `${rule}.match.key[1]`,
  ],
  [
    "alerts.rules[4].match.probe",
    "logn",
    '"logn"; allowed: the name of a configured probe: login; did you mean "login"?',
  ],
  [
    `${rule}.receivers`,
    ["x"],
    '"x"; allowed: the name of a configured receiver: a, b, c, d, e; did you mean "a"?',
    `${rule}.receivers[0]`,
  ],
  [
    `${rule}.receivers`,
    ["e"],
    '"e", which is a heartbeat; allowed: a receiver of another type: a heartbeat gets no notifications',
    `${rule}.receivers[0]`,
  ],
  [
    "alerts.maintenance[0].match.region",
    "uss",
    '"uss"; allowed: the name of a configured region: us; did you mean "us"?',
  ],
  [
    `${rule}.name`,
    "receiver-failing",
    '"receiver-failing", which is built in; allowed: a name that no other rule has',
  ],
  [
    "alerts.rules[1].name",
    "a",
    '"a", the same as alerts.rules[0].name; allowed: a name that no other rule has',
  ],
  [
    "alerts.receivers[1].name",
    "a",
    '"a", the same as alerts.receivers[0].name; allowed: a name that no other receiver has',
  ],
  [
    "keys",
    ["research", "batch"].map((each) => ({ name: each, api_key: "k1" })),
    "an API key that has another name already; allowed: an API key under one name",
    "keys[1].api_key",
  ],
  [
    `${rule}.match`,
    { region: "us", key: "b*" },
    "no configured target that matches; allowed: a match that applies to at least one target",
  ],
  [
    "alerts.rules[4].match.key",
    "b*",
    "no configured probe that matches; allowed: a match that applies to at least one probe",
    "alerts.rules[4].match",
  ],
  [
    "probes",
    [],
    "a rule on probes, but no probes; allowed: another subject, or probes in the file",
    "alerts.rules[4].on",
  ],
];
