import { expect, it } from "vitest";
import { listDrift } from "../../src/api/operations/drift.ts";
import type { Fault } from "../../src/simulator/faults.ts";
import { apiKey, watchWorld } from "../support/watched-world.ts";
import type { WatchedWorld } from "../support/watched-world.ts";

const server = "local_sandboxes[].servers[]";
const gpu: Fault = {
  kind: "reshape",
  field: `${server}.gpu`,
  value: { model: "T0PSECRET", count: 2 },
};
const resting: Fault = { kind: "reshape", field: `${server}.status`, value: "resting" };

const lines = ({ log }: WatchedWorld, wanted: string) =>
  log.filter(({ event }) => event === wanted);
const drifts = (world: WatchedWorld) => lines(world, "drift.seen");

async function askApi(world: WatchedWorld) {
  const response = await fetch(`${await world.address()}/api/v1/drift`);
  return listDrift.response.parse(await response.json()).drift;
}

it("says each kind of drift once, counts every occurrence of it, and keeps that over restarts", async () => {
  const world = await watchWorld({ servers: 2 });
  await world.poll();
  expect(await askApi(world)).toEqual([]);

  world.fail(gpu);
  await world.poll(3);
  expect(drifts(world)).toMatchObject([
    {
      operation: "list_sandboxes",
      region: "us",
      field: `${server}.gpu`,
      problem: "unknown_field",
      example: "object of 2 fields",
      msg: `list_sandboxes in us: ${server}.gpu is a field that the interface does not have (object of 2 fields)`,
    },
  ]);
  const [seen] = await askApi(world);
  expect(seen).toMatchObject({ field: `${server}.gpu`, regions: ["us"], count: 6 });

  await world.restart();
  expect(await askApi(world)).toEqual([seen]);
  world.fail(gpu, resting);
  await world.poll(2);
  expect(drifts(world).map(({ problem, example }) => [problem, example])).toEqual([
    ["unknown_field", "object of 2 fields"],
    ["unknown_value", '"resting"'],
  ]);
  const [word, field] = await askApi(world);
  expect(word).toMatchObject({ problem: "unknown_value", example: '"resting"', count: 4 });
  expect(field).toEqual({ ...seen, count: 10, last_seen_at: field?.last_seen_at });
  const metrics = await world.metrics();
  expect(metrics).toContain(
    `sandwatch_schema_deviations_total{region="us",operation="list_sandboxes",field="${server}.gpu"} 4`,
  );
  const all = JSON.stringify([world.log, await askApi(world)]) + metrics;
  expect(all).not.toContain("T0PSECRET");
  expect(all).not.toContain(apiKey);
});

it("says that a listing lacks what it must have, of a missing operation and of a redirect", async () => {
  const world = await watchWorld();
  world.fail({ kind: "reshape", field: "local_sandboxes" });
  await world.poll();
  world.fail({ kind: "missing" });
  await world.poll(2);
  world.fail({ kind: "redirect", location: "https://other.example.com/T0PSECRET" });
  await world.poll(2);
  expect(drifts(world).map(({ field, problem }) => [field, problem])).toEqual([
    ["local_sandboxes", "missing"],
    ["(answer)", "operation_missing"],
    ["(answer)", "redirected"],
  ]);
  expect(lines(world, "target.lost")).toMatchObject([
    { reason: "invalid_body", detail: "the body does not have the expected shape" },
  ]);
  expect(JSON.stringify(world.log)).not.toContain("T0PSECRET");
});

it("keeps what is new at once and counts once a minute, and says it once the store has taken it", async () => {
  let isBroken = true;
  let kept = 0;
  const world = await watchWorld({
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
  expect(drifts(world)).toEqual([]);
  expect(lines(world, "drift.not_kept")).toHaveLength(1);
  isBroken = false;
  await world.poll();
  expect(drifts(world)).toHaveLength(1);
  expect(await askApi(world)).toMatchObject([{ count: 9 }]);
  expect(kept).toBeLessThanOrEqual(6);
});
