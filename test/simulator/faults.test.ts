import { expect, test } from "vitest";
import { operations } from "../../src/fleet/model.ts";
import { faultsSchema, oddKinds, type Fault } from "../../src/simulator/faults.ts";
import { createFaultBoard } from "../../src/simulator/fault-board.ts";
import { seededRandom } from "../../src/lib/random.ts";
import { createFakeClock } from "../support/fake-clock.ts";

const subject = { region: "us", key: "research", operation: "list_sandboxes" } as const;

function createBoard(faults: readonly Fault[]) {
  const clock = createFakeClock();
  const board = createFaultBoard(faults, { clock, random: seededRandom(5) });
  return { clock, board, strikes: (over = {}) => board.strike({ ...subject, ...over }).length };
}

test("a fault without a scope strikes every request", () => {
  const { strikes } = createBoard([{ kind: "malformed" }]);
  for (const operation of operations) {
    expect(strikes({ operation, region: "eu", key: "training" })).toBe(1);
  }
});

test.each([
  ["region", { region: "us" }, { region: "eu" }],
  ["key", { key: "research" }, { key: "training" }],
  ["operation", { operation: "list_sandboxes" }, { operation: "get_user" }],
] as const)("a fault of one %s leaves the others alone", (_, scope, other) => {
  const { strikes } = createBoard([{ kind: "malformed", ...scope }]);
  expect(strikes()).toBe(1);
  expect(strikes(other)).toBe(0);
});

test("a fault strikes from its beginning until its end, in seconds since the start", () => {
  const { clock, strikes } = createBoard([{ kind: "malformed", from: 10, until: 20 }]);
  expect(strikes()).toBe(0);
  clock.advance(9_999);
  expect(strikes()).toBe(0);
  clock.advance(1);
  expect(strikes()).toBe(1);
  clock.advance(9_999);
  expect(strikes()).toBe(1);
  clock.advance(1);
  expect(strikes()).toBe(0);
});

test("a fault of some probability strikes that share of the requests, the same ones for a seed", () => {
  const run = () => {
    const { strikes } = createBoard([{ kind: "malformed", probability: 0.3 }]);
    return Array.from({ length: 1_000 }, () => strikes());
  };
  const hits = run().reduce((sum, hit) => sum + hit, 0);
  expect(hits).toBeGreaterThan(250);
  expect(hits).toBeLessThan(350);
  expect(run()).toEqual(run());
});

test("setting faults replaces those before", () => {
  const { board, strikes } = createBoard([{ kind: "malformed" }, { kind: "latency", ms: 1 }]);
  board.set([{ kind: "malformed" }]);
  expect(strikes()).toBe(1);
  board.set([]);
  expect(strikes()).toBe(0);
});

test.each([
  ["an unknown kind", { kind: "gremlins" }],
  ["a misspelt field", { kind: "latency", ms: 1, reigon: "us" }],
  ["a missing field", { kind: "latency" }],
  ["an unknown operation", { kind: "malformed", operation: "delete_user" }],
  ["a probability above one", { kind: "malformed", probability: 2 }],
  ["a status below 200", { kind: "status", status: 100 }],
  ["a share of nothing", { kind: "partial", share: 0 }],
])("%s is not taken for a fault", (_, fault) => {
  expect(faultsSchema.safeParse([fault]).success).toBe(false);
});

test("every default is filled in", () => {
  expect(faultsSchema.parse([{ kind: "odd" }])).toEqual([
    { kind: "odd", kinds: oddKinds, length: 200_000, probability: 1, from: 0 },
  ]);
});
