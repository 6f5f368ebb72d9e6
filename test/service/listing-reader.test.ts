import { Buffer } from "node:buffer";
import { describe, expect, it } from "vitest";
import { emptySnapshot } from "../../src/fleet/snapshot.ts";
import { boxes, inWords, outcomeOf, read, take } from "./support/read-listing.ts";
import { listing, sandbox, server } from "./wire.ts";

describe("a listing as promised", () => {
  it("is taken without what may be secret, and without deviations", () => {
    const { listing: taken, ...rest } = read(listing([sandbox]));
    const kept = { id: "v1", name: "github", status: "occupied", benchmark: "MCP_Atlas" };
    expect(taken.sandboxes).toEqual([
      { id: "s1", status: "idle", benchmark: null, servers: [{ ...kept, tags: ["prod"] }] },
    ]);
    expect(rest).toEqual({
      kind: "read",
      partial: null,
      deviations: [],
      unkept: { count: 0, first: [] },
    });
  });

  it("is taken in whatever way it is written", () => {
    const plain = read(listing(boxes(3)));
    const spaced = JSON.stringify(listing(boxes(3)), null, "\t");
    const marked = `\u{feff} ${spaced}\r\n`;
    const escaped = spaced.replace('"local_sandboxes"', '"local\\u005fsandboxes"');
    const late = `{"total_count":3,"local_sandboxes":${JSON.stringify(boxes(3))}}`;
    for (const body of [spaced, marked, escaped, late]) {
      expect(read(body).listing.sandboxes).toEqual(plain.listing.sandboxes);
    }
  });

  it.each(["é沙箱 \u{1f600}", "\u{fffd}", '},{"local_sandbox_id":', '"}]}', "\\", "\u2028"])(
    "is taken with %j in its texts",
    (text) => {
      const odd = { ...server, server_name: text, metadata: { [text]: [text] } };
      const body = listing([...boxes(1), { ...sandbox, servers: [odd] }, ...boxes(3).slice(2)]);
      const { sandboxes } = read(body).listing;
      expect(sandboxes.map(({ servers }) => servers[0]?.name)).toEqual(["github", text, "github"]);
    },
  );
});

describe("half a surrogate pair", () => {
  it("is replaced in a text that is no id", () => {
    const odd = String.raw`{"id":"v1","server_name":"a\ud800b","benchmark":"\udc00"}`;
    const body = `{"local_sandboxes":[{"local_sandbox_id":"s","created_at":"","servers":[${odd}]}],"total_count":1}`;
    expect(read(body).listing.sandboxes[0]?.servers).toMatchObject([
      { id: "v1", name: "a\u{fffd}b", benchmark: "\u{fffd}" },
    ]);
  });
});

describe("an item that cannot be kept", () => {
  const long = "i".repeat(2_000);
  it.each([
    [{ local_sandbox_id: long }, "local_sandbox_id is too long (text of 2000 characters)"],
    [
      { local_sandbox_id: "a\u0000b" },
      "local_sandbox_id holds a NUL character or half a surrogate",
    ],
    [{ local_sandbox_id: "a\ud800" }, "local_sandbox_id holds a NUL character or half a surrogate"],
    [{ local_sandbox_id: null }, "local_sandbox_id is null"],
    [{ local_sandbox_id: "" }, "local_sandbox_id is empty"],
    [{ local_sandbox_id: 7 }, "local_sandbox_id is of another type than promised (whole number)"],
    [{ servers: undefined }, "servers is missing"],
    [{ servers: {} }, "servers is of another type than promised (object of 0 fields)"],
  ])("is counted, named with its place, and makes the listing partial: %j", (edit, problem) => {
    const [first, second] = boxes(2);
    const body = listing([first, { ...sandbox, status: "error", ...edit }, second]);
    const outcome = read(body);
    expect(outcome.listing.sandboxes.map(({ id }) => id)).toEqual(["s0", "s1"]);
    expect(outcome.listing.complete).toBe(false);
    expect(outcome.unkept).toMatchObject({ count: 1, first: [{ lost: "sandbox" }] });
    expect(outcome.partial).toContain(
      `1 item or text cannot be kept: local_sandboxes[1].${problem}`,
    );
    expect(outcome.deviations).toHaveLength(1);
  });

  it.each([null, 7, "text", []])("is %j in place of a sandbox or of a server", (item) => {
    const odd = listing([item, { ...sandbox, servers: [server, item] }]);
    expect(read(odd).unkept.first.map(({ place, lost }) => [place, lost])).toEqual([
      ["local_sandboxes[0]", "sandbox"],
      ["local_sandboxes[1].servers[1]", "server"],
    ]);
  });

  it("is named again, where it is now, while its sandbox stays as it is", () => {
    const odd = { ...sandbox, servers: [{ ...server, id: "a\u0000b" }, server] };
    const before = take(listing([odd]));
    const moved = listing([...boxes(1), odd]);
    const { unkept, listing: taken } = read(moved, take(moved, before));
    expect([unkept.first.map(({ place }) => place), taken.complete]).toEqual([
      ["local_sandboxes[1].servers[0].id"],
      false,
    ]);
  });

  it("is named among the first twenty only, however many there are", () => {
    const { unkept } = read(listing([sandbox, ...boxes(40).map(() => null)]));
    expect([unkept.first.length, unkept.count]).toEqual([20, 40]);
  });
});

describe("a text that cannot be kept", () => {
  it.each([
    [{ server_name: "n".repeat(2_000) }, ".server_name", "too_long"],
    [{ server_name: "a\u0000b" }, ".server_name", "invalid_character"],
    [{ benchmark: "a\u0000b" }, ".benchmark", "invalid_character"],
    [{ tags: ["a", "n".repeat(2_000)] }, ".tags[1]", "too_long"],
    [{ tags: Array.from({ length: 65 }, String) }, ".tags", "too_many"],
  ])("is missing from a server that is kept, at each listing: %j", (edit, part, problem) => {
    const body = listing([...boxes(1), { ...sandbox, servers: [{ ...server, ...edit }] }]);
    for (const outcome of [read(body), read(body, take(body))]) {
      expect(outcome.listing.sandboxes[1]?.servers).toMatchObject([{ id: "v1" }]);
      expect(outcome.unkept.first).toMatchObject([
        { place: `local_sandboxes[1].servers[0]${part}`, problem, lost: null, serverId: "v1" },
      ]);
      expect(outcome.listing.complete).toBe(false);
    }
  });
});

describe("total_count", () => {
  it.each([
    ["null", "total_count is null", "total_count null 1"],
    ['"1"', "total_count is not a whole number (text of 1 character)", "total_count wrong_type 1"],
    ["1.5", "total_count is not a whole number (number)", "total_count wrong_type 1"],
    ["1e400", "total_count is not a whole number (number)", "total_count wrong_type 1"],
    ["2", "total_count is 2, but 1 distinct sandbox came", "total_count mismatch 1"],
    ["0", "total_count is 0, but 1 distinct sandbox came", "total_count mismatch 1"],
  ])("%s makes a listing partial, never failed", (written, partial, deviation) => {
    const body = `{"local_sandboxes":[${JSON.stringify(sandbox)}],"total_count":${written}}`;
    const outcome = read(body);
    expect(outcome.listing.sandboxes).toHaveLength(1);
    expect([outcome.partial, inWords(outcome)]).toEqual([partial, [deviation]]);
  });

  it("that is absent does too", () => {
    const outcome = read({ local_sandboxes: [sandbox] });
    expect(outcome.partial).toBe("total_count is missing");
    expect(inWords(outcome)).toEqual(["total_count missing 1"]);
  });

  it("counts distinct sandboxes, and those that could not be kept", () => {
    expect(read(listing([sandbox, sandbox], 1)).partial).toBeNull();
    expect(read(listing([sandbox, sandbox, null], 2)).partial).not.toContain("total_count");
  });

  it("that comes last is known before anything is missing", () => {
    const before = take(listing(boxes(2)));
    const after = take(`{"local_sandboxes":[],"total_count":2}`, before);
    expect(after.sandboxes.map(({ missing }) => missing)).toEqual([0, 0]);
  });
});

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

  it("are refused where they are absurdly many", () => {
    const many = Array.from({ length: 101 }, () => "[]");
    expect(outcomeOf(body(...many))).toMatchObject({ reason: "too_large" });
  });
});

describe("a key __proto__", () => {
  it("is an unknown field like any other, wherever it stands", () => {
    const odd = '"__proto__":{"status":"error","servers":[]}';
    const inServer = `{"id":"v1",${odd}}`;
    const inSandbox = `{"local_sandbox_id":"s","created_at":"","servers":[${inServer}],${odd}}`;
    const outcome = read(`{${odd},"local_sandboxes":[${inSandbox}],"total_count":1}`);
    expect(outcome.listing.sandboxes).toMatchObject([
      { id: "s", status: "unknown", servers: [{ id: "v1", status: "unknown" }] },
    ]);
    expect(inWords(outcome)).toEqual([
      "__proto__ unknown_field 1",
      "local_sandboxes[].__proto__ unknown_field 1",
      "local_sandboxes[].servers[].__proto__ unknown_field 1",
    ]);
  });

  it("gives an item no identity that it does not have", () => {
    const item = '{"__proto__":{"local_sandbox_id":"s"},"created_at":"","servers":[]}';
    const { unkept } = read(`{"local_sandboxes":[${item}],"total_count":1}`);
    expect(unkept.first).toMatchObject([
      { place: "local_sandboxes[0].local_sandbox_id", problem: "missing" },
    ]);
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
    [
      '{"local_sandboxes":[],"total_count":T0PSECRET}',
      "the body is not JSON (beside its sandboxes)",
    ],
    [`${whole} {}`, `the body is not JSON (at byte ${Buffer.byteLength(whole) + 1})`],
    ["[1]", "the body is not of the promised shape"],
    ['{"local_sandboxes":{},"total_count":0}', "the body is not of the promised shape"],
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
    expect(outcomeOf(body.fill(0xff, at, at + 1))).toMatchObject({
      reason: "invalid_body",
      detail: "the body is not UTF-8",
    });
  });

  const nested = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;
  const bodyWith = (metadata: string) =>
    JSON.stringify(listing([{ ...sandbox, servers: [{ ...server, metadata: "#" }] }])).replace(
      '"#"',
      metadata,
    );

  it("is one that is nested too deeply, also where another text of its length was known", () => {
    const deep = bodyWith(`{"a":${nested(600)}}`);
    const flat = bodyWith(`{"a":"${"x".repeat(1_198)}"}`);
    expect(flat).toHaveLength(deep.length);
    expect(read(bodyWith(`{"a":${nested(400)}}`)).partial).toBeNull();
    for (const before of [emptySnapshot, take(flat)]) {
      expect(outcomeOf(deep, before)).toMatchObject({
        reason: "invalid_body",
        detail: "the body is nested deeper than 512 levels",
      });
    }
    const beside = `{"extra":${nested(600)},"local_sandboxes":[],"total_count":0}`;
    expect(outcomeOf(beside)).toMatchObject({ reason: "invalid_body" });
  });

  it.each([
    ["one value holds absurdly many objects", bodyWith(`[${"{},".repeat(100_000)}{}]`)],
    ["one value is absurdly long", bodyWith(`"${"x".repeat(8 * 1024 * 1024)}"`)],
    ["much stands beside the sandboxes", JSON.stringify({ a: "x".repeat(9e6), ...listing([]) })],
  ])("is one that is too large: %s", (_, body) => {
    expect(outcomeOf(body)).toMatchObject({ reason: "too_large" });
  });

  it("is one in which a sandbox that comes twice holds absurdly many servers", () => {
    const servers = Array.from({ length: 10_001 }, (_, at) => ({ ...server, id: `v${at}` }));
    const twins = [servers.slice(0, 5_000), servers.slice(5_000)];
    const body = (most: number) =>
      listing(
        twins.map((each) => ({ ...sandbox, servers: each.slice(0, most) })),
        1,
      );
    expect(outcomeOf(body(10_000))).toMatchObject({ reason: "too_large" });
    expect(outcomeOf(body(5_000))).toMatchObject({ kind: "read" });
  });
});
