import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseBaseUrl, parseListenAddress, parseWebAddress } from "../../src/config/address.ts";
import { nearestName } from "../../src/config/nearest-name.ts";
import { formatDuration, parseDuration } from "../../src/fleet/text.ts";

describe("durations", () => {
  it.each([
    ["500ms", 500],
    ["7d", 604_800_000],
    ["1h30m", 5_400_000],
    ["1d2h3m4s5ms", 93_784_005],
    ["0s", 0],
  ])("%s is %i milliseconds", (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  const wrong = ["", "10", "s", "1.5h", "-1s", "10 s", "30m1h", "1h1h", "1w", "10S"];

  it.each([...wrong, `${"9".repeat(20)}d`])("%j is none", (text) => {
    expect(parseDuration(text)).toBeUndefined();
  });

  it("come back from their text", () => {
    fc.assert(
      fc.property(fc.nat(10 ** 12), (ms) => {
        expect(parseDuration(formatDuration(ms))).toBe(ms);
      }),
    );
  });
});

it("addresses to listen on are a host or none, and a port", () => {
  expect(parseListenAddress("127.0.0.1:9740")).toEqual({ host: "127.0.0.1", port: 9740 });
  expect(parseListenAddress("localhost:0")).toEqual({ host: "localhost", port: 0 });
  expect(parseListenAddress("[::1]:9740")).toEqual({ host: "::1", port: 9740 });
  expect(parseListenAddress(":9740")).toEqual({ host: "::", port: 9740 });
  const wrong = ["9740", "127.0.0.1", "::1:9740", "[x]:1", "a b:1", "host:65536", "http://host:1"];
  for (const text of wrong) expect([text, parseListenAddress(text)]).toEqual([text, undefined]);
});

it.each([
  ["https://us.example.com/", "https://us.example.com"],
  ["https://US.example.com/api//", "https://us.example.com/api"],
  ["http://127.0.0.1:8080/api/", "http://127.0.0.1:8080/api"],
  ["us.example.com", undefined],
  ["ftp://us.example.com", undefined],
  ["https://user@us.example.com", undefined],
  ["https://:password@us.example.com", undefined],
  ["https://us.example.com/?", undefined],
  ["https://us.example.com/#here", undefined],
])("the base address %s is %s", (text, baseUrl) => {
  expect(parseBaseUrl(text)).toBe(baseUrl);
});

it("the address of a receiver keeps its query", () => {
  const address = "https://hooks.example.com/x?token=y";
  expect(parseWebAddress(address)?.href).toBe(address);
});

it.each([
  ["timout", "timeout"],
  ["tiemout", "timeout"],
  ["Timeout", "timeout"],
  ["maxbody", "max_body"],
  ["evry", "every"],
  ["something_else", null],
  ["x", null],
])("the nearest known name to %s is %s", (name, nearest) => {
  expect(nearestName(name, ["timeout", "schedule", "every", "max_body"])).toBe(nearest);
});
