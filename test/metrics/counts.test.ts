import { expect, it } from "vitest";
import { judgeBy, listing, research, server, watchFleet } from "../support/fleet.ts";
import { meterFleet, parseExposition } from "./exposition.ts";

type Fleet = ReturnType<typeof meterFleet>;

/** The values of a family's samples, by all their labels but those of the target. */
async function valuesOf({ render }: Fleet, family: string, sample = family) {
  const samples = parseExposition(await render()).get(family)?.samples ?? [];
  return samples
    .filter(({ name, value }) => name === sample && value !== 0)
    .map(({ labels, value }) => {
      const own = Object.keys(labels).filter((label) => label !== "region" && label !== "key");
      return [own.map((label) => labels[label]).join(" "), value];
    });
}

it("the counts of a name go on when servers of other names come", async () => {
  const fleet = meterFleet();
  const named = (names: readonly string[]) => ({
    complete: true,
    sandboxes: [
      {
        id: "box",
        status: "idle" as const,
        benchmark: null,
        servers: names.map((name) => server(name, { name })),
      },
    ],
  });
  fleet.poll(named(["a"]), 0);
  fleet.poll(named(["a"]), 30);
  fleet.poll(named(["a", "b", "c"]), 30);
  expect(await valuesOf(fleet, "sandbox_server_status_seconds_total")).toEqual([["a idle", 60]]);
  expect(await valuesOf(fleet, "sandbox_server_transitions_total")).toEqual([
    ["a absent idle", 1],
    ["b absent idle", 1],
    ["c absent idle", 1],
  ]);
});

it("incidents that belong to no target are counted with the others", async () => {
  const other = watchFleet({ region: "eu", key: "evals" });
  other.poll(listing({ a: "error", b: "error" }));
  const fleet = meterFleet(
    { readUntargeted: () => Promise.resolve([...other.watched.state.incidents.values()]) },
    watchFleet(research, { judge: judgeBy() }),
  );
  fleet.poll(listing({ a: "error" }));
  expect(await valuesOf(fleet, "sandwatch_incidents")).toEqual([
    ["server-error critical firing", 3],
  ]);
});

it("requests are counted by their codes, and their durations without", async () => {
  const fleet = meterFleet();
  for (const [code, durationMs] of [
    ["200", 40],
    ["200", 60],
    ["timeout", 10_000],
  ] as const) {
    fleet.metrics.service.requested({ region: "us", operation: "get_user", code, durationMs });
  }
  expect(await valuesOf(fleet, "sandwatch_api_requests_total")).toEqual([
    ["get_user 200", 2],
    ["get_user timeout", 1],
  ]);
  const duration = "sandwatch_api_request_duration_seconds";
  expect(await valuesOf(fleet, duration, `${duration}_sum`)).toEqual([["get_user", 10.1]]);
});
