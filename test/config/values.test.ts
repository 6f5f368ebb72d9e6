import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseBaseUrl, parseListenAddress, parseWebAddress } from "../../src/config/address.ts";
import { formatDuration, parseDuration } from "../../src/fleet/duration.ts";
import { editDistance, nearestName } from "../../src/config/nearest-name.ts";
import { parseSize } from "../../src/config/size.ts";

describe("durations", () => {
  it.each([
    ["500ms", 500],
    ["10s", 10_000],
    ["5m", 300_000],
    ["4h", 14_400_000],
    ["7d", 604_800_000],
    ["1h30m", 5_400_000],
    ["1d2h3m4s5ms", 93_784_005],
    ["0s", 0],
  ])("%s is %i milliseconds", (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  it.each([
    "",
    "10",
    "s",
    "1.5h",
    "-1s",
    "10 s",
    "30m1h",
    "1h1h",
    "1w",
    "10S",
    "9".repeat(20) + "d",
  ])("%j is none", (text) => {
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

describe("sizes", () => {
  it.each([
    ["64MiB", 67_108_864],
    ["10MB", 10_000_000],
    ["512KiB", 524_288],
    ["1GiB", 1_073_741_824],
    ["4096", 4_096],
    ["4096B", 4_096],
  ])("%s is %i bytes", (text, bytes) => {
    expect(parseSize(text)).toBe(bytes);
  });

  it.each(["", "MiB", "1.5MiB", "-1", "64 MiB", "64mib", "1TB", "1constructor"])(
    "%j is none",
    (text) => {
      expect(parseSize(text)).toBeUndefined();
    },
  );
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

  it.each([
    "9740",
    "127.0.0.1",
    "::1:9740",
    "[x]:1",
    "a b:1",
    "host:65536",
    "http://host:1",
    "h:1 ",
  ])("%j is refused", (text) => {
    expect(parseListenAddress(text)).toBeUndefined();
  });
});

describe("base addresses", () => {
  it.each([
    ["https://us.example.com", "https://us.example.com"],
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
    "https://us.example.com/?a=b",
    "https://us.example.com/#here",
  ])("%s is refused", (text) => {
    expect(parseBaseUrl(text)).toBeUndefined();
  });

  it("keep their query where it belongs to a receiver", () => {
    expect(parseWebAddress("https://hooks.example.com/x?token=y")?.href).toBe(
      "https://hooks.example.com/x?token=y",
    );
  });
});

describe("the nearest known name", () => {
  const known = ["timeout", "schedule", "every", "max_body"];

  it.each([
    ["timout", "timeout"],
    ["tiemout", "timeout"],
    ["Timeout", "timeout"],
    ["maxbody", "max_body"],
    ["evry", "every"],
    ["something_else", null],
    ["x", null],
  ])("to %s is %s", (name, nearest) => {
    expect(nearestName(name, known)).toBe(nearest);
  });

  it("is at a distance that is symmetric and zero only for equals", () => {
    const word = fc.string({ maxLength: 8, unit: fc.constantFrom("a", "b", "c") });
    fc.assert(
      fc.property(word, word, (a, b) => {
        const distance = editDistance(a, b);
        expect(distance).toBe(editDistance(b, a));
        expect(distance === 0).toBe(a === b);
        expect(distance).toBeLessThanOrEqual(Math.max(a.length, b.length));
      }),
    );
  });
});
