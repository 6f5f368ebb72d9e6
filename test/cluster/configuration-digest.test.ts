import { expect, it } from "vitest";
import { digestOf } from "../../src/cluster/configuration-digest.ts";
import { configOf, everyKind, parseWith, pathOf, withAt } from "../config/support.ts";
import { parseConfig } from "../../src/config/load-config.ts";

const digest = digestOf(configOf(parseConfig(everyKind)));

it("a configuration has a digest of 16 hexadecimal digits", () => {
  expect(digest).toMatch(/^[0-9a-f]{16}$/);
});

it.each([
  ["poll.timeout", "9s"],
  ["regions.us.base_url", "https://b.example.com"],
  ["alerts.rules[0].severity", "info"],
  ["alerts.receivers[8].basic_auth", undefined],
  ["cluster.lease", "10s"],
])("which another %s changes", (path, value) => {
  expect(digestOf(configOf(parseWith(path, value)))).not.toBe(digest);
});

it.each([
  ["cluster.address", "https://b.example.com"],
  ["http.listen", "127.0.0.1:1"],
  ["log.level", "debug"],
  ["store.postgres.url", "postgresql://v@localhost/d"],
  // Secrets.
  ["keys[0].api_key", "k2"],
  ["alerts.receivers[0].url", "https://b.example.com"],
  ["alerts.receivers[8].basic_auth.password", "q"],
])("which another %s does not change", (path, value) => {
  expect(digestOf(configOf(parseWith(path, value)))).toBe(digest);
});

it("which does not depend on the order of what is written", () => {
  const region = { base_url: "https://b.example.com" };
  const regions = { eu: region, us: everyKind.regions.us };
  const keys = [{ name: "research", api_key: "k1", regions: ["us"] }];
  const headers = { "x-a": "1", "x-b": "2" };
  const written = (each: object, of: object): unknown =>
    withAt({ ...everyKind, regions: each, keys }, pathOf("alerts.receivers[0].headers"), of);
  const one = configOf(parseConfig(written(regions, headers)));
  const reversed = (of: object) => Object.fromEntries(Object.entries(of).toReversed());
  const other = configOf(parseConfig(written(reversed(regions), reversed(headers))));
  expect([...other.regions.keys()]).not.toEqual([...one.regions.keys()]);
  expect(digestOf(other)).toBe(digestOf(one));
});
