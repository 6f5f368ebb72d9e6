import { expect, it } from "vitest";
import { listIncidents } from "../../src/api/operations/incidents.ts";
import { showIncident } from "../../src/api/operations/show-incident.ts";
import { watchWorld } from "../support/watched-world.ts";

it("a resolved incident says what was wrong, as its message did, not what its subject is now", async () => {
  const world = await watchWorld();
  world.show(0, "error");
  await world.poll(2);
  world.show(0, "idle");
  await world.poll(2);
  const { api } = world.daemon();
  const { incidents } = await api(listIncidents, { state: "resolved" });
  const { summary } = await api(showIncident, { id: incidents[0]?.id ?? "" });
  expect(summary).toMatch(/^Resolved after \d+ s: 1 \w+ server in error in us\/research$/);
  expect(world.alerts.at(-1)?.data.summary).toBe(summary);
});
