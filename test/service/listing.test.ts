import { expect, test } from "vitest";
import { listedSandbox, listedServer, listing, read, sandbox, server } from "./wire.ts";

const sandboxes = "local_sandboxes[]";
const servers = "local_sandboxes[].servers[]";
const notKept = "invalid_character";

test("a listing as promised is taken whole, without what may be secret, and without deviations", () => {
  expect(read(listing([sandbox]))).toEqual({
    listing: { sandboxes: [listedSandbox], complete: true },
    deviations: [],
  });
});

test("what may be null or absent is no deviation", () => {
  const bare = { local_sandbox_id: "s1", created_at: "", servers: [{ id: "v1" }] };
  const nulls = Object.fromEntries(Object.keys(server).map((field) => [field, null]));
  const full = { ...bare, status: null, benchmark: null, servers: [{ ...nulls, id: "v1" }] };
  const nothing = { status: "unknown", benchmark: null };
  for (const each of [bare, full]) {
    expect(read(listing([each]))).toEqual({
      listing: {
        sandboxes: [
          {
            id: "s1",
            ...nothing,
            servers: [{ id: "v1", name: null, tags: [], ...nothing }],
          },
        ],
        complete: true,
      },
      deviations: [],
    });
  }
});

test.for([
  [{ status: "resting" }, { status: "unknown" }, [`${servers}.status`, "unknown_value", 1]],
  [{ status: "IDLE" }, { status: "unknown" }, [`${servers}.status`, "unknown_value", 1]],
  [{ status: 7 }, { status: "unknown" }, [`${servers}.status`, "wrong_type", 1]],
  [{ server_name: 7 }, { name: null }, [`${servers}.server_name`, "wrong_type", 1]],
  [{ server_name: "n".repeat(257) }, { name: null }, [`${servers}.server_name`, "too_long", 1]],
  [{ server_name: "n".repeat(256) }, { name: "n".repeat(256) }, null],
  [{ benchmark: ["x"] }, { benchmark: null }, [`${servers}.benchmark`, "wrong_type", 1]],
  [{ tags: "prod" }, { tags: [] }, [`${servers}.tags`, "wrong_type", 1]],
  [{ tags: ["a", 7, "b", 8] }, { tags: ["a", "b"] }, [`${servers}.tags[]`, "wrong_type", 2]],
  [{ tags: ["t".repeat(257), "b"] }, { tags: ["b"] }, [`${servers}.tags[]`, "too_long", 1]],
  [
    { tags: Array.from({ length: 66 }, (_, at) => `t${at}`) },
    { tags: Array.from({ length: 64 }, (_, at) => `t${at}`) },
    [`${servers}.tags`, "too_many", 2],
  ],
  [{ updated_at: 12 }, {}, [`${servers}.updated_at`, "wrong_type", 1]],
  [{ metadata: "m" }, {}, [`${servers}.metadata`, "wrong_type", 1]],
  [{ auth_data: [] }, {}, [`${servers}.auth_data`, "wrong_type", 1]],
  [{ mcp_server_url: {} }, {}, [`${servers}.mcp_server_url`, "wrong_type", 1]],
  [{ shape: "new" }, {}, [`${servers}.shape`, "unknown_field", 1]],
  [{ id: 'a "quoted"\nid é' }, { id: 'a "quoted"\nid é' }, null],
  [{ server_name: "x\ud800y" }, { name: "x\ufffdy" }, null],
  [{ server_name: "a\0b" }, { name: null }, [`${servers}.server_name`, notKept, 1]],
  [{ benchmark: "\0" }, { benchmark: null }, [`${servers}.benchmark`, notKept, 1]],
  [{ tags: ["a\0", "b"] }, { tags: ["b"] }, [`${servers}.tags[]`, notKept, 1]],
] as const)("a server with %j is taken as %j", ([odd, taken, deviation]) => {
  expect(read(listing([{ ...sandbox, servers: [{ ...server, ...odd }] }]))).toEqual({
    listing: {
      sandboxes: [{ ...listedSandbox, servers: [{ ...listedServer, ...taken }] }],
      complete: !["too_long", "too_many", notKept].includes(deviation?.[1] ?? ""),
    },
    deviations: deviation ? [deviation] : [],
  });
});

test.for([
  [null, [servers, "null", 1]],
  ["text", [servers, "wrong_type", 1]],
  [[], [servers, "wrong_type", 1]],
  [{}, [`${servers}.id`, "missing", 1]],
  [{ id: null }, [`${servers}.id`, "null", 1]],
  [{ id: 7 }, [`${servers}.id`, "wrong_type", 1]],
  [{ id: "" }, [`${servers}.id`, "empty", 1]],
  [{ id: "i".repeat(513) }, [`${servers}.id`, "too_long", 1]],
  [{ id: "x\0y" }, [`${servers}.id`, notKept, 1]],
  [{ id: "x\ud800y" }, [`${servers}.id`, notKept, 1]],
] as const)("a server %j is left out, and the listing is incomplete", ([odd, deviation]) => {
  expect(read(listing([{ ...sandbox, servers: [odd, server] }]))).toEqual({
    listing: { sandboxes: [listedSandbox], complete: false },
    deviations: [deviation],
  });
});

test.for([
  [null, [sandboxes, "null", 1]],
  [7, [sandboxes, "wrong_type", 1]],
  [{ ...sandbox, local_sandbox_id: null }, [`${sandboxes}.local_sandbox_id`, "null", 1]],
  [{ ...sandbox, local_sandbox_id: "" }, [`${sandboxes}.local_sandbox_id`, "empty", 1]],
  [
    { ...sandbox, local_sandbox_id: "i".repeat(513) },
    [`${sandboxes}.local_sandbox_id`, "too_long", 1],
  ],
  [{ ...sandbox, local_sandbox_id: "\0" }, [`${sandboxes}.local_sandbox_id`, notKept, 1]],
  [{ ...sandbox, local_sandbox_id: "s2", servers: null }, [`${sandboxes}.servers`, "null", 1]],
  [{ ...sandbox, local_sandbox_id: "s2", servers: {} }, [`${sandboxes}.servers`, "wrong_type", 1]],
] as const)("a sandbox %j is left out, and the listing is incomplete", ([odd, deviation]) => {
  expect(read(listing([odd, sandbox]))).toEqual({
    listing: { sandboxes: [listedSandbox], complete: false },
    deviations: [deviation],
  });
});

test.for([
  [{ created_at: undefined }, {}, [`${sandboxes}.created_at`, "missing", 1]],
  [{ created_at: null }, {}, [`${sandboxes}.created_at`, "null", 1]],
  [{ status: "busy" }, { status: "unknown" }, [`${sandboxes}.status`, "unknown_value", 1]],
  [{ benchmark: 7 }, { benchmark: null }, [`${sandboxes}.benchmark`, "wrong_type", 1]],
  [{ owner: "me" }, {}, [`${sandboxes}.owner`, "unknown_field", 1]],
] as const)("a sandbox with %j is kept", ([odd, taken, deviation]) => {
  expect(read(listing([{ ...sandbox, ...odd }]))).toEqual({
    listing: { sandboxes: [{ ...listedSandbox, ...taken }], complete: true },
    deviations: [deviation],
  });
});

test("a count that tells of another number of sandboxes makes the listing incomplete", () => {
  for (const totalCount of [0, 2, -1]) {
    expect(read(listing([sandbox], totalCount))).toEqual({
      listing: { sandboxes: [listedSandbox], complete: false },
      deviations: [["total_count", "mismatch", 1]],
    });
  }
});

test("a sandbox listed twice is one, with the servers of both, the worse ones being believed", () => {
  const again = {
    ...sandbox,
    status: "error",
    benchmark: "MCP_Atlas",
    servers: [
      { ...server, status: "error", server_name: "gitlab", tags: [] },
      { ...server, id: "v2" },
    ],
  };
  const v1 = { ...listedServer, status: "error", name: "gitlab", tags: [] };
  const v2 = { ...listedServer, id: "v2" };
  const worse = { ...listedSandbox, status: "error", benchmark: "MCP_Atlas" };
  const deviations = [
    [`${sandboxes}.local_sandbox_id`, "duplicate", 1],
    [`${servers}.id`, "duplicate", 1],
  ];
  for (const items of [
    [sandbox, again],
    [again, sandbox],
  ]) {
    expect(read(listing(items, 1))).toEqual({
      listing: { sandboxes: [{ ...worse, servers: [v1, v2] }], complete: true },
      deviations,
    });
  }
});

test("of a server listed with several statuses the worst is believed, in whatever order", () => {
  const fromBad = ["error", "occupied", "idle", null];
  for (const [at, worst] of fromBad.entries()) {
    for (const other of fromBad.slice(at)) {
      for (const statuses of [
        [worst, other],
        [other, worst],
      ]) {
        const twins = statuses.map((status) => ({ ...server, status }));
        const { listing: taken, deviations } = read(listing([{ ...sandbox, servers: twins }]));
        expect(taken?.sandboxes[0]?.servers).toEqual([
          { ...listedServer, status: worst ?? "unknown" },
        ]);
        expect(deviations).toEqual([[`${servers}.id`, "duplicate", 1]]);
      }
    }
  }
});

test("unknown fields are named in twenty ways at most, in short and printable names", () => {
  const odd = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`f${index}`, 1]));
  const { deviations } = read({ ...listing([]), [`é\n${"n".repeat(1000)}`]: 1, ...odd });
  expect(deviations).toHaveLength(21);
  expect(deviations[0]).toEqual([`??${"n".repeat(62)}`, "unknown_field", 1]);
  expect(deviations.at(-1)).toEqual(["other", "unknown_field", 11]);
});
