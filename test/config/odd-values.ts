const bytes = (count: number): string => Buffer.alloc(count, 3).toString("base64");

/** Of all that people write into configurations: right in one place, wrong in others. */
export const oddValues: readonly unknown[] = [
  [undefined, null, true, false, "", "on", "off", "true", "yes", [], {}],
  [0, 1, 2, 0.5, 1.5, -1, 100, 200, 404, 429, 499, 4_096, 1e6, 1e9, 2 ** 40],
  ["0", "1", "007", "0.5", "200", "404", "4096", "64MiB", "64mb", "1KB", "1GiB", "2GiB", "10B"],
  ["10s", "0s", "0ms", "500ms", "1h30m", "30m1h", "23h", "2d", "400d", "forever"],
  ["* * * * *", "*/5 * * * * *", "  * * * * * ", "@daily", "0 2 * * SUN", "0 0 2 * * SUN 2030"],
  ["UTC", "utc", "Europe/Berlin", "Etc/GMT+1", "+01:00"],
  ["a", "a b", "a*", "*", "us", "research", ".", "..", "日本", "x".repeat(64), "x".repeat(513)],
  ["info", "critical", "crit*", "error", "pool", "slack", "user", "sandboxes", "GET", "json"],
  ["https://x.example", " HTTPS://x.example/a ", "https:x.example", "https://x.example/?a#b"],
  ["https://u:p@x.example", "http://127.0.0.1:1", "ftp://x.example", "x.example"],
  ["127.0.0.1:0", ":0", "[::1]:9740", "10.0.0.0/8", "10.0.0.1/8", "::ffff:10.0.0.0/104", "::1"],
  ["{count} x", "{cnt} x", "{}", "a{b", "{a{count}}", "x\n{count}", "https://x/{rule}"],
  [`whsec_${bytes(32)}`, bytes(24), bytes(23), bytes(64), bytes(65), "0".repeat(32)],
  [["us"], ["us", "us"], ["a*"], [""], ["region", "key"], ["critical", "w*"], [{}], [1], [["a"]]],
  [["https://x.example"], ["x.example.com"], ["10.0.0.0/8"], { region: ["us", "e*"] }],
  [
    { polls: 3 },
    { polls: "3" },
    { polls: 0 },
    { above: 0.5 },
    { below: "1" },
    { above: 1, below: 2 },
  ],
  [{ changes: 1, within: "1h" }, { requests: "5" }, { text: "{summary}" }, { text: "{x}" }],
  [{ a: 1 }, { "a\\.b": { absent: true } }, { "a..b": 1 }, { x: { present: false } }, { x: [1] }],
  [{ us: { base_url: "https://x.example" }, "a b": { base_url: "https://x.example" } }],
].flat();
