import { Buffer } from "node:buffer";
import { describe, expect, it } from "vitest";
import { emptySnapshot } from "../../src/fleet/snapshot.ts";
import {
  boxes,
  listing,
  outcomeOf,
  read,
  sandbox,
  server,
  take,
  withServer,
} from "./support/listings.ts";

describe("several lists of sandboxes in one body", () => {
  const list = (count: number) => JSON.stringify(boxes(count));
  const body = (...values: readonly string[]) =>
    `{${values.map((value) => `"local_sandboxes":${value},`).join("")}"total_count":1}`;

  it("are the last one, as for JSON.parse, and of the others nothing counts", () => {
    const odd = JSON.stringify([null, { ...sandbox, extra: 1 }]);
    const outcome = read(body(list(3), odd, list(1)));
    expect(outcome.listing.sandboxes.map(({ id }) => id)).toEqual(["s0"]);
    expect([outcome.partial, outcome.deviations]).toEqual([null, []]);
  });

  it("are no listing where the last one is no list", () => {
    expect(outcomeOf(body(list(1), "null"))).toMatchObject({ reason: "invalid_body" });
    expect(read(body("null", list(1))).listing.sandboxes).toHaveLength(1);
  });

  it.each([
    [100, "read"],
    [101, "refused"],
  ])("are taken up to a hundred: %i", (count, kind) => {
    expect(outcomeOf(body(...Array.from({ length: count }, () => "[0]")))).toMatchObject({ kind });
  });
});

describe("a body that is no listing", () => {
  const whole = JSON.stringify({ extra: ["é\\"], ...listing(boxes(2)) });

  it.each([
    ["", "the body is empty"],
    ["  ", "the body is not JSON (it ends too early)"],
    ["<html>T0PSECRET", "the body is not JSON (at byte 0)"],
    ['{"local_sandboxes":[{},{"T0PSECRET":nothing}]}', "the body is not JSON (at byte 23)"],
    ['{"local_sandboxes":[{}{}],"total_count":2}', "the body is not JSON (at byte 22)"],
    ['{"local_sandboxes":[{},],"total_count":1}', "the body is not JSON (at byte 23)"],
    ['{"local_sandboxes":[],"total_count":T0P}', "the body is not JSON (apart from its sandboxes)"],
    [`${whole} {}`, `the body is not JSON (at byte ${Buffer.byteLength(whole) + 1})`],
    ["[1]", "the body does not have the expected shape"],
    ['{"local_sandboxes":{},"total_count":0}', "the body does not have the expected shape"],
    ['{"total_count":0}', "the body does not have the expected shape"],
    [Buffer.from([0xff]), "the body is not UTF-8"],
  ])("%j is refused, in words that quote nothing of it", (body, detail) => {
    expect(outcomeOf(body)).toMatchObject({ kind: "refused", reason: "invalid_body", detail });
  });

  it("is one that ends early at any byte, whatever was known before", () => {
    const before = take(whole);
    for (let length = 0; length < Buffer.byteLength(whole); length++) {
      const body = Buffer.from(whole).subarray(0, length);
      for (const known of [emptySnapshot, before]) {
        expect(outcomeOf(body, known).kind).toBe("refused");
      }
    }
  });

  it.each([
    ["a text of a sandbox", [...boxes(1), { ...sandbox, benchmark: "#" }]],
    ["a text beside them", boxes(1)],
  ])("is one with what is no UTF-8 in %s, unlike U+FFFD itself", (_, items) => {
    const body = Buffer.from(JSON.stringify({ ...listing(items), extra: "#" }));
    const at = body.indexOf("#");
    const sent = Buffer.from(body.toString().replaceAll("#", "\u{fffd}"));
    expect(outcomeOf(sent).kind).toBe("read");
    const detail = "the body is not UTF-8";
    expect(outcomeOf(body.fill(0xff, at, at + 1))).toMatchObject({
      reason: "invalid_body",
      detail,
    });
  });

  const bodyWith = (metadata: string) =>
    JSON.stringify(withServer({ metadata: "#" })).replace('"#"', metadata);
  const longList = (count: number) => `[${"[],".repeat(count - 2)}[]]`;
  it.each([
    ["a value has too many parts", bodyWith(longList(300_001)), "lists and objects"],
    ["a value is too long", bodyWith(`"${"x".repeat(8 * 1024 * 1024)}"`), "8388608 bytes"],
    [
      "much is beside the sandboxes",
      JSON.stringify({ a: "x".repeat(9e6), ...listing([]) }),
      "8388608 bytes",
    ],
    [
      "the list has too many items",
      `{"local_sandboxes":[${"0,".repeat(2_000_000)}0]}`,
      "more than 2000000 items",
    ],
    [
      "the root object has too many fields",
      `{${Array.from({ length: 10_001 }, (_, at) => `"f${at}":0`).join()}}`,
      "10000 fields",
    ],
  ])("is one that is too large: %s", (_, body, words) => {
    const detail = expect.stringContaining(words);
    expect(outcomeOf(body)).toMatchObject({ reason: "too_large", detail });
  });

  it("is no one with much that is nested in an item", () => {
    expect(read(bodyWith(longList(200_000))).partial).toBeNull();
    expect(read(bodyWith(`${"[".repeat(600)}${"]".repeat(600)}`)).partial).toBeNull();
  });

  it.each([
    [10_000, "read"],
    [10_001, "refused"],
  ])(
    "is one in which a sandbox is listed twice with more than 10000 servers: %i",
    (count, kind) => {
      const all = Array.from({ length: count }, (_, at) => ({ ...server, id: `v${at}` }));
      const halves = [all.slice(0, 5_000), all.slice(5_000)];
      const body = listing(
        halves.map((half) => ({ ...sandbox, servers: half })),
        1,
      );
      expect(outcomeOf(body)).toMatchObject({ kind });
    },
  );
});
