import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseBaseUrl, parseListenAddress, parseWebAddress } from "../../src/config/address.ts";
import { nearestName } from "../../src/config/nearest-name.ts";
import { formatDuration, parseDuration } from "../../src/fleet/duration.ts";

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

describe("addresses to listen on", () => {
  it.each([
    ["127.0.0.1:9740", { host: "127.0.0.1", port: 9740 }],
    ["localhost:0", { host: "localhost", port: 0 }],
    ["[::1]:9740", { host: "::1", port: 9740 }],
    [":9740", { host: "::", port: 9740 }],
  ])("%s is read", (text, address) => {
    expect(parseListenAddress(text)).toStrictEqual(address);
  });

  it.each(["9740", "127.0.0.1", "::1:9740", "[x]:1", "a b:1", "host:65536", "http://host:1"])(
    "%j is refused",
    (text) => {
      expect(parseListenAddress(text)).toBeUndefined();
    },
  );
});

describe("base addresses", () => {
  it.each([
    ["https://us.example.com/", "https://us.example.com"],
    ["https://US.example.com/api//", "https://us.example.com/api"],
    ["http://127.0.0.1:8080/api/", "http://127.0.0.1:8080/api"],
  ])("%s is read as %s", (text, baseUrl) => {
    expect(parseBaseUrl(text)).toBe(baseUrl);
  });

  it.each([
    "us.example.com",
    "ftp://us.example.com",
    "https://user@us.example.com",
    "https://:password@us.example.com",
    "https://us.example.com/?",
    "https://us.example.com/#here",
  ])("%s is refused", (text) => {
    expect(parseBaseUrl(text)).toBeUndefined();
  });

  it("keep their query where it belongs to a receiver", () => {
    const address = "https://hooks.example.com/x?token=y";
    expect(parseWebAddress(address)?.href).toBe(address);
  });
});

describe("the nearest known name", () => {
  it.each([
    ["timout", "timeout"],
    ["tiemout", "timeout"],
    ["Timeout", "timeout"],
    ["maxbody", "max_body"],
    ["evry", "every"],
    ["something_else", null],
    ["x", null],
  ])("to %s is %s", (name, nearest) => {
    expect(nearestName(name, ["timeout", "schedule", "every", "max_body"])).toBe(nearest);
  });
});
