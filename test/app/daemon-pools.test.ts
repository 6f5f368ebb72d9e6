import { expect, it } from "vitest";
import { listIncidents } from "../../src/api/operations/incidents.ts";
import { notifications } from "../support/heard.ts";
import { watchWorld } from "../support/watched-world.ts";

it("a pool of sandboxes counts these instead of servers, also over a restart", async () => {
  const rule = { name: "none-free", on: "pool", of: "sandboxes", by: [], idle: { below: 1 } };
  // In one sandbox that states no status, so it has the worst of theirs.
  const world = await watchWorld({ servers: 2, alerts: { rules: [rule] } });
  await world.poll();
  expect(notifications(world)).toEqual([]);
  world.show(0, "occupied");
  await world.poll();
  await world.restart();
  await world.poll();
  expect(notifications(world)).toEqual(["none-free firing"]);
  expect(world.alerts.map(({ data }) => [data.summary, data.incidents[0]?.subject])).toEqual([
    ["sandboxes with fewer than 1 idle (0) since 09:30 UTC", "sandbox_pool"],
  ]);
  world.show(0, "idle");
  await world.poll();
  expect(notifications(world)).toEqual(["none-free firing", "none-free resolved"]);
});

it("pools of targets that are not observed are listed apart from what is so at present, on the page and in the API", async () => {
  const rule = { name: "few", on: "pool", by: ["region"], servers: { below: 9 } };
  const world = await watchWorld({ regions: ["us", "eu"], alerts: { rules: [rule] } });
  await world.poll(2);
  world.fail({ kind: "status", status: 400, region: "eu" });
  await world.poll(4);
  const { incidents } = await world.daemon().api(listIncidents, { state: "firing" });
  expect(new Map(incidents.map(({ region, observed }) => [region, observed]))).toEqual(
    new Map([
      ["us", true],
      ["eu", false],
    ]),
  );
  const page = await fetch(`${await world.address()}/`).then((response) => response.text());
  const [present, apart] = page.split("Not observed at present");
  expect(present).toContain("servers in us with fewer than 9 servers (3)");
  expect(present).not.toContain("servers in eu");
  expect(apart).toContain("servers in eu beyond the limit");
});
