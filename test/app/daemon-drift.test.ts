import { expect, it } from "vitest";
import { listDrift } from "../../src/api/operations/drift.ts";
import type { Fault } from "../../src/simulator/faults.ts";
import { apiKey, watchWorld } from "../support/watched-world.ts";
import type { WorldOptions } from "../support/watched-world.ts";

const server = "local_sandboxes[].servers[]";
const gpu: Fault = {
  kind: "reshape",
  field: `${server}.gpu`,
  value: { model: "T0PSECRET", count: 2 },
};
const resting: Fault = { kind: "reshape", field: `${server}.status`, value: "resting" };

async function start(options: WorldOptions = {}) {
  const world = await watchWorld(options);
  const lines = (wanted: string) => world.log.filter(({ event }) => event === wanted);
  return {
    world,
    lines,
    drifts: () =>
      lines("drift.seen").map(({ field, problem, example }) => [field, problem, example]),
    listed: async () => (await world.daemon().api(listDrift, {})).drift,
  };
}

it("says each kind of drift once, counts every occurrence of it, and keeps that over restarts", async () => {
  const { world, lines, drifts, listed } = await start({ servers: 2 });
  await world.poll();
  expect(await listed()).toEqual([]);
  world.fail(gpu);
  await world.poll(3);
  const msg = `list_sandboxes in us: ${server}.gpu is a field that the interface does not have (object of 2 fields)`;
  expect(lines("drift.seen")).toMatchObject([{ operation: "list_sandboxes", region: "us", msg }]);
  const [seen] = await listed();
  expect(seen).toMatchObject({ field: `${server}.gpu`, regions: ["us"], count: 6 });

  await world.restart();
  expect(await listed()).toEqual([seen]);
  world.fail(gpu, resting);
  await world.poll(2);
  expect(drifts()).toEqual([
    [`${server}.gpu`, "unknown_field", "object of 2 fields"],
    [`${server}.status`, "unknown_value", '"resting"'],
  ]);
  const [word, field] = await listed();
  expect(word).toMatchObject({ problem: "unknown_value", example: '"resting"', count: 4 });
  expect(field).toEqual({ ...seen, count: 10, last_seen_at: field?.last_seen_at });
  const metrics = await world.metrics();
  expect(metrics).toContain(
    `sandwatch_schema_deviations_total{region="us",operation="list_sandboxes",field="${server}.gpu"} 4`,
  );
  const all = JSON.stringify([world.log, word, field, metrics]);
  expect([all.includes("T0PSECRET"), all.includes(apiKey)]).toEqual([false, false]);
});

it("says that a listing lacks what it must have, of a missing operation and of a redirect", async () => {
  const { world, lines, drifts } = await start();
  for (const fault of [
    { kind: "reshape", field: "local_sandboxes" },
    { kind: "missing" },
    { kind: "redirect", location: "https://other.example.com/T0PSECRET" },
  ] as const) {
    world.fail(fault);
    await world.poll(2);
  }
  expect(drifts()).toEqual([
    ["local_sandboxes", "missing", null],
    ["(answer)", "operation_missing", null],
    ["(answer)", "redirected", null],
  ]);
  expect(lines("target.lost")).toMatchObject([
    { reason: "invalid_body", detail: "the body does not have the expected shape" },
  ]);
  expect(JSON.stringify(world.log)).not.toContain("T0PSECRET");
});

it("keeps what is new at once and counts once a minute, and says it once the store has taken it", async () => {
  let isBroken = true;
  let kept = 0;
  const { world, lines, drifts, listed } = await start({
    wrapStore: (store) => ({
      ...store,
      drift: {
        ...store.drift,
        keep(...args) {
          kept += 1;
          return isBroken ? Promise.reject(new Error("disk full")) : store.drift.keep(...args);
        },
      },
    }),
  });
  world.fail(gpu);
  await world.poll(2);
  expect([drifts(), lines("drift.not_kept").length]).toEqual([[], 1]);
  isBroken = false;
  world.fail();
  await world.poll();
  expect(drifts()).toHaveLength(1);
  expect(await listed()).toMatchObject([{ count: 6 }]);
  expect(kept).toBeLessThanOrEqual(6);
});
