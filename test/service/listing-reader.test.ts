import { describe, expect, it } from "vitest";
import {
  boxes,
  inWords,
  listedSandbox,
  listedServer,
  listing,
  read,
  sandbox,
  server,
  take,
  withServer,
} from "./support/listings.ts";

const sandboxes = "local_sandboxes[]";
const servers = "local_sandboxes[].servers[]";

describe("a listing as promised", () => {
  it("is taken without what may be secret, and without deviations", () => {
    const { listing: taken, ...rest } = read(listing([sandbox]));
    expect(taken).toMatchObject({ sandboxes: [listedSandbox], complete: true });
    const unkept = { count: 0, first: [] };
    expect(rest).toEqual({ kind: "read", partial: null, deviations: [], unkept });
  });

  it("may lack what may be null or absent", () => {
    const bare = { local_sandbox_id: "s1", created_at: "", servers: [{ id: "v1" }] };
    const nulls = Object.fromEntries(Object.keys(server).map((field) => [field, null]));
    const full = { ...bare, status: null, benchmark: null, servers: [{ ...nulls, id: "v1" }] };
    const nothing = { status: null, benchmark: null };
    const kept = { id: "v1", name: null, tags: [], ...nothing };
    for (const each of [bare, full]) {
      const { listing: taken, deviations } = read(listing([each]));
      expect(taken.sandboxes).toEqual([{ id: "s1", ...nothing, createdAt: null, servers: [kept] }]);
      expect(deviations).toEqual([]);
    }
  });
});

describe("a server", () => {
  it.each<[object, object, string | null]>([
    [{ status: "resting" }, { status: "unknown" }, "status unknown_value 1"],
    [{ status: "IDLE" }, { status: "unknown" }, "status unknown_value 1"],
    [{ status: 7 }, { status: "unknown" }, "status wrong_type 1"],
    [{ server_name: 7 }, { name: null }, "server_name wrong_type 1"],
    [{ server_name: "n".repeat(256) }, { name: "n".repeat(256) }, null],
    [{ server_name: "x\ud800y" }, { name: "x\ufffdy" }, null],
    [{ benchmark: ["x"] }, { benchmark: null }, "benchmark wrong_type 1"],
    [{ tags: "prod" }, { tags: [] }, "tags wrong_type 1"],
    [{ tags: ["a", 7, "b", 8] }, { tags: ["a", "b"] }, "tags[] wrong_type 2"],
    [{ updated_at: 12 }, {}, "updated_at wrong_type 1"],
    [{ metadata: "m" }, {}, "metadata wrong_type 1"],
    [{ mcp_server_url: {} }, {}, "mcp_server_url wrong_type 1"],
    [{ shape: "new" }, {}, "shape unknown_field 1"],
    [{ id: 'a "quoted"\nid é' }, { id: 'a "quoted"\nid é' }, null],
  ])("with %j is taken as %j", (odd, taken, deviation) => {
    const outcome = read(withServer(odd));
    expect(outcome.listing.complete).toBe(true);
    expect(outcome.listing.sandboxes[0]?.servers).toEqual([{ ...listedServer, ...taken }]);
    expect(inWords(outcome)).toEqual(deviation === null ? [] : [`${servers}.${deviation}`]);
  });

  const tags = Array.from({ length: 66 }, (_, at) => `t${at}`);
  it.each<[object, object, string, string, number]>([
    [{ server_name: "n".repeat(257) }, { name: null }, ".server_name", "too_long", 1],
    [{ server_name: "a\0b" }, { name: null }, ".server_name", "invalid_character", 1],
    [{ benchmark: "\0" }, { benchmark: null }, ".benchmark", "invalid_character", 1],
    [{ tags: ["t".repeat(257), "b"] }, { tags: ["b"] }, ".tags[0]", "too_long", 1],
    [{ tags: ["a\0", "b"] }, { tags: ["b"] }, ".tags[0]", "invalid_character", 1],
    [{ tags }, { tags: tags.slice(0, 64) }, ".tags", "too_many", 2],
  ])("with %j loses that text at each listing, which is partial", (...row) => {
    const [odd, taken, part, problem, count] = row;
    const body = withServer(odd);
    for (const outcome of [read(body), read(body, take(body))]) {
      expect(outcome.listing.sandboxes[0]?.servers).toMatchObject([{ ...listedServer, ...taken }]);
      expect(outcome.listing.complete).toBe(false);
      const place = `local_sandboxes[0].servers[0]${part}`;
      expect(outcome.unkept.first).toMatchObject([{ place, problem, lost: null, serverId: "v1" }]);
      const field = `${servers}${part.replace("[0]", "[]")}`;
      expect(inWords(outcome)).toEqual([`${field} ${problem} ${count}`]);
    }
  });

  it.each([
    [null, "", "null"],
    ["text", "", "wrong_type"],
    [{}, ".id", "missing"],
    [{ id: null }, ".id", "null"],
    [{ id: 7 }, ".id", "wrong_type"],
    [{ id: "" }, ".id", "empty"],
    [{ id: "i".repeat(513) }, ".id", "too_long"],
    [{ id: "x\0y" }, ".id", "invalid_character"],
    [{ id: "x\ud800y" }, ".id", "invalid_character"],
  ])("%j cannot be kept, and makes the listing partial", (odd, part, problem) => {
    const outcome = read(listing([{ ...sandbox, servers: [odd, server] }]));
    expect(outcome.listing).toMatchObject({ sandboxes: [listedSandbox], complete: false });
    const place = `local_sandboxes[0].servers[0]${part}`;
    const lost = { place, problem, lost: "server", sandboxId: "s1", serverId: null };
    expect(outcome.unkept).toMatchObject({ count: 1, first: [lost] });
    expect(inWords(outcome)).toEqual([`${servers}${part} ${problem} 1`]);
  });
});

describe("a sandbox", () => {
  it.each<[object, object, string]>([
    [{ created_at: undefined }, { createdAt: null }, "created_at missing 1"],
    [{ created_at: null }, { createdAt: null }, "created_at null 1"],
    [{ created_at: 7 }, { createdAt: null }, "created_at wrong_type 1"],
    [{ status: "busy" }, { status: "unknown" }, "status unknown_value 1"],
    [{ benchmark: 7 }, { benchmark: null }, "benchmark wrong_type 1"],
    [{ owner: "me" }, {}, "owner unknown_field 1"],
  ])("with %j is kept", (odd, taken, deviation) => {
    const outcome = read(listing([{ ...sandbox, ...odd }]));
    expect(outcome.listing.sandboxes).toEqual([{ ...listedSandbox, ...taken }]);
    expect(inWords(outcome)).toEqual([`${sandboxes}.${deviation}`]);
  });

  it.each<[string, number | null]>([
    ["2026-02-16T12:45:25.770231-08:00", Date.UTC(2026, 1, 16, 20, 45, 25, 770)],
    ["2026-02-16 12:45:25Z", Date.UTC(2026, 1, 16, 12, 45, 25)],
    ["2026-02-16T12:45:25", null],
    ["2026-02-30T99:45:25Z", null],
    ["yesterday", null],
    ["1771275925", null],
  ])("created at %j has this instant, and is no deviation", (text, createdAt) => {
    const outcome = read(listing([{ ...sandbox, created_at: text }]));
    expect(outcome.listing.sandboxes).toEqual([{ ...listedSandbox, createdAt }]);
    expect(inWords(outcome)).toEqual([]);
  });

  it.each<[unknown, string, string, string]>([
    [null, "", "null", "is null"],
    [7, "", "wrong_type", "has the wrong type (whole number)"],
    [{ local_sandbox_id: null }, ".local_sandbox_id", "null", "is null"],
    [{ local_sandbox_id: "" }, ".local_sandbox_id", "empty", "is empty"],
    [
      { local_sandbox_id: "i".repeat(2_000) },
      ".local_sandbox_id",
      "too_long",
      "is longer than what is kept (text of 2,000 characters)",
    ],
    [
      { local_sandbox_id: "a\ud800" },
      ".local_sandbox_id",
      "invalid_character",
      "contains a character that cannot be kept (text of 2 characters)",
    ],
    [{ servers: undefined }, ".servers", "missing", "is missing"],
    [{ servers: {} }, ".servers", "wrong_type", "has the wrong type (object of 0 fields)"],
  ])("%j cannot be kept: it is reported with its place", (edit, part, problem, words) => {
    const [first, second] = boxes(2);
    const odd = typeof edit === "object" && edit ? { ...sandbox, ...edit } : edit;
    const outcome = read(listing([first, odd, second]));
    expect(outcome.listing.sandboxes.map(({ id }) => id)).toEqual(["s0", "s1"]);
    const place = `local_sandboxes[1]${part}`;
    const unkept = { count: 1, first: [{ place, problem, lost: "sandbox" }] };
    expect(outcome.unkept).toMatchObject(unkept);
    expect(outcome.partial).toContain("items or texts that cannot be kept: 1, such as ");
    expect(outcome.partial).toContain(`such as ${place} ${words}`);
    expect(inWords(outcome)).toEqual([`${sandboxes}${part} ${problem} 1`]);
  });
});

describe("what cannot be kept", () => {
  it("is reported again, where it is now, while its sandbox is as it was", () => {
    const odd = { ...sandbox, servers: [{ ...server, id: "a\u0000b" }, server] };
    const before = take(listing([odd]));
    const moved = listing([...boxes(1), odd]);
    const { unkept, listing: taken } = read(moved, take(moved, before));
    expect(unkept.first.map(({ place }) => place)).toEqual(["local_sandboxes[1].servers[0].id"]);
    expect(taken.complete).toBe(false);
  });

  it("is reported with its place for the first twenty, and all are counted", () => {
    const { unkept } = read(listing([sandbox, ...boxes(40).map(() => null)]));
    expect([unkept.first.length, unkept.count]).toEqual([20, 40]);
  });
});

describe("total_count", () => {
  it.each([
    ["null", "total_count is null", "total_count null 1"],
    ['"1"', "total_count is not a whole number (text of 1 character)", "total_count wrong_type 1"],
    ["1.5", "total_count is not a whole number (number)", "total_count wrong_type 1"],
    ["1e400", "total_count is not a whole number (number)", "total_count wrong_type 1"],
    ["2", "total_count is 2, but the listing has 1 distinct sandbox", "total_count mismatch 1"],
    ["-1", "total_count is -1, but the listing has 1 distinct sandbox", "total_count mismatch 1"],
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
