import type { Faulty } from "./support.ts";

const regions = {
  us: { base_url: "https://us.example.com" },
  eu: { base_url: "https://eu.example.com" },
};
const keys = [{ name: "research", api_key: "k1" }];
const region = (settings: object) => ({ regions: { us: settings }, keys });
const key = (settings: object) => ({ regions, keys: [{ ...keys[0], ...settings }] });
const poll = (settings: unknown) => ({ regions, keys, poll: settings });
const history = (settings: unknown) => ({ regions, keys, history: settings });
const kept = "a duration such as 400d, from 1d to 36500d, or forever";
const sections = "regions, keys, poll, probes, store, history, http, log, metrics, alerts";
const name = "a name of at most 63 letters, digits, _ . -";
const baseUrl =
  "an https address without user, password, query and fragment, such as https://us.example.com/api";
const apiKey =
  "an API key of visible ASCII characters without blanks (numbers quoted), or api_key_file beside it";
const cron =
  "a cron expression, preferably of six fields with seconds first, such as */30 * * * * *";
const encrypted = "https, or a loopback address, or allow_http: true beside it";

export const faultySettings: readonly Faulty[] = [
  ["no mapping", ["x"], "found a list; allowed: a mapping"],
  ["nothing", null, "found nothing; allowed: a mapping"],
  [
    "an unknown section",
    { regions, keys, pol: {} },
    `pol: found an unknown setting; allowed: ${sections}; did you mean "poll"?`,
  ],
  [
    "an unknown section like none",
    { regions, keys, "x-parts": {} },
    `x-parts: found an unknown setting; allowed: ${sections}`,
  ],
  [
    "no regions",
    { regions: {}, keys },
    "regions: found an empty mapping; allowed: at least one region",
  ],
  [
    "a region's name with a slash",
    { regions: { "us/1": regions.us }, keys },
    `regions[a name that is not shown]: found a name that is not allowed; allowed: ${name}`,
  ],
  [
    "a region without address",
    region({}),
    `regions.us.base_url: found nothing; allowed: ${baseUrl}`,
  ],
  [
    "an address that is none",
    region({ base_url: "us.example.com" }),
    `regions.us.base_url: found a value that is not shown; allowed: ${baseUrl}`,
  ],
  [
    "an address in the clear",
    region({ base_url: "http://us.example.com" }),
    `regions.us.base_url: found "http://us.example.com", which is not encrypted; allowed: ${encrypted}`,
  ],
  [
    "an address in the clear, not allowed",
    region({ base_url: "http://localhost.example.com", allow_http: false }),
    `regions.us.base_url: found "http://localhost.example.com", which is not encrypted; allowed: ${encrypted}`,
  ],
  [
    "history for less than a day",
    history({ "5m": "23h" }),
    `history.5m: found "23h"; allowed: ${kept}`,
  ],
  [
    "history for a number",
    history({ changes: 400 }),
    `history.changes: found 400; allowed: ${kept}`,
  ],
  [
    "history for ever, misspelt",
    history({ "1d": "for ever" }),
    `history.1d: found "for ever"; allowed: ${kept}; did you mean "forever"?`,
  ],
  [
    "history in a resolution that there is none of",
    history({ "1m": "30d" }),
    'history.1m: found an unknown setting; allowed: changes, 5m, 1h, 1d; did you mean "5m"?',
  ],
  ["no keys", { regions, keys: [] }, "keys: found an empty list; allowed: at least one key"],
  [
    "keys as a mapping",
    { regions, keys: { a: "b" } },
    "keys: found a mapping; allowed: a list of keys",
  ],
  [
    "a key without its value",
    key({ api_key: undefined }),
    `keys[0].api_key: found nothing; allowed: ${apiKey}`,
  ],
  [
    "a key with a line break",
    key({ api_key: "k1\n" }),
    `keys[0].api_key: found a value that is not shown; allowed: ${apiKey}`,
  ],
  [
    "a key that is a number",
    key({ api_key: 12345678 }),
    `keys[0].api_key: found a value that is not shown, which YAML reads as a number: quote it; allowed: ${apiKey}`,
  ],
  [
    "a name that is a number",
    key({ name: 7 }),
    `keys[0].name: found 7, which YAML reads as a number: quote it; allowed: ${name}`,
  ],
  [
    "an unknown region",
    key({ regions: ["us", "eux"] }),
    'keys[0].regions[1]: found "eux"; allowed: the name of a configured region: us, eu; did you mean "eu"?',
  ],
  [
    "a region twice",
    key({ regions: ["us", "us"] }),
    'keys[0].regions[1]: found "us", the same as keys[0].regions[0]; allowed: each region once',
  ],
  [
    "no region",
    key({ regions: [] }),
    "keys[0].regions: found an empty list; allowed: at least one region; omit the setting for every region",
  ],
  [
    "two keys of one name",
    { regions, keys: [...keys, { name: "research", api_key: "k2" }] },
    'keys[1].name: found "research", the same as keys[0].name; allowed: a name that no other key has',
  ],
  [
    "one key under two names",
    { regions, keys: [...keys, { name: "batch", api_key: "k1" }] },
    'keys[1].api_key: found one API key under two names, "research" and "batch"; allowed: an API key under one name',
  ],
  [
    "a cron field",
    poll({ schedule: "99 * * * * *" }),
    `poll.schedule: found "99 * * * * *"; allowed: ${cron} (wrong here: second)`,
  ],
  [
    "no cron expression",
    poll({ schedule: "often" }),
    `poll.schedule: found "often"; allowed: ${cron}`,
  ],
  [
    "an interval below a second",
    poll({ every: "999ms" }),
    'poll.every: found "999ms"; allowed: a duration such as 30s or 1h30m, from 1s to 7d',
  ],
  [
    "an interval beside a cron expression",
    poll({ every: "30s", schedule: "*/30 * * * * *" }),
    "poll.every: found schedule beside it; allowed: one of the two",
  ],
  [
    "a duration without a unit",
    poll({ timeout: 10 }),
    "poll.timeout: found 10; allowed: a duration such as 30s or 1h30m, from 100ms to 1h",
  ],
  [
    "a misspelt setting",
    poll({ timout: "10s" }),
    'poll.timout: found an unknown setting; allowed: schedule, every, time_zone, timeout, rate_limit, max_body, stale_after, gone_after; did you mean "timeout"?',
  ],
  [
    "a limit of nothing",
    poll({ rate_limit: { requests: 0 } }),
    "poll.rate_limit.requests: found 0; allowed: a whole number from 1 to 1000000",
  ],
  [
    "half a poll",
    poll({ stale_after: 1.5 }),
    "poll.stale_after: found 1.5; allowed: a whole number from 1 to 1000000",
  ],
  [
    "an unknown unit",
    poll({ max_body: "64 MB" }),
    'poll.max_body: found "64 MB"; allowed: a size such as 64MiB, 10MB or 512KiB, from 1KiB to 1GiB',
  ],
  ["an empty section", poll(null), "poll: found nothing; allowed: a mapping"],
  [
    "an empty path",
    { regions, keys, store: { path: "" } },
    "store.path: found empty text; allowed: the path of a file",
  ],
  [
    "a bare port",
    { regions, keys, http: { listen: 9740 } },
    "http.listen: found 9740; allowed: HOST:PORT, such as 127.0.0.1:9740, [::1]:9740, or :9740 for every interface",
  ],
  [
    "a misspelt level",
    { regions, keys, log: { level: "wran" } },
    'log.level: found "wran"; allowed: trace, debug, info, warn, error, fatal, silent; did you mean "warn"?',
  ],
  [
    "neither on nor off",
    { regions, keys, metrics: { per_server: "some" } },
    'metrics.per_server: found "some"; allowed: true or false',
  ],
];
