import { expect, it } from "vitest";
import {
  acknowledgeIncident,
  unacknowledgeIncident,
} from "../../src/api/operations/acknowledgements.ts";
import { listIncidents } from "../../src/api/operations/incidents.ts";
import { expireSilence } from "../../src/api/operations/change-silence.ts";
import { addSilence, listSilences } from "../../src/api/operations/silences.ts";
import { notifications } from "../support/heard.ts";
import { watchWorld } from "../support/watched-world.ts";
import type { WatchedWorld } from "../support/watched-world.ts";

const firing = "server-error firing";

function silenceUs(world: WatchedWorld, duration: string) {
  const request = { match: { region: "us" }, author: "ann", reason: "it moves", duration };
  return world.daemon().api(addSilence, request);
}

it("a silence resolves what was notified, also over a restart, and what still fires is notified when it is expired", async () => {
  const world = await watchWorld();
  world.show(0, "error");
  await world.poll();
  const { id } = await silenceUs(world, "1d");
  await world.poll(2);
  await world.restart();
  await world.poll(2);
  expect(notifications(world)).toEqual([firing, "server-error resolved"]);
  expect(world.alerts[1]?.data.incidents[0]).toMatchObject({ resolved_reason: "silenced" });
  expect(world.alerts[1]?.data.summary).toMatch(
    /^Silenced by ann for 1d, still firing: 1 \S+ server in error in us\/research since 09:30 UTC$/,
  );
  await world.daemon().api(expireSilence, { id });
  await world.poll(2);
  expect(notifications(world).slice(2)).toEqual([firing]);
});

it("a maintenance window is like a silence while it is open, in its time zone", async () => {
  // The clock of these tests starts at 09:30 UTC, which is 10:30 in Berlin.
  const window = { name: "deploys", start: "30 10 * * *", duration: "1m", match: { region: "us" } };
  const maintenance = [{ ...window, time_zone: "Europe/Berlin" }];
  const world = await watchWorld({ alerts: { maintenance } });
  world.show(0, "error");
  await world.poll(4);
  expect(notifications(world)).toEqual([]);
  expect(await world.daemon().api(listSilences, {})).toMatchObject({
    silences: [
      {
        id: "maintenance:deploys",
        kind: "maintenance",
        state: "in_force",
        ends_at: "2026-11-20T09:31:00.000Z",
      },
    ],
  });
  await world.poll(10);
  expect(notifications(world)).toEqual([firing]);
});

it("reminders go on when an acknowledgement ends, also over a restart, or is withdrawn", async () => {
  const erring = { name: "erring", on: "server", status: "error", remind_every: "1m" };
  const receiver = { send_acknowledged: true };
  const world = await watchWorld({ alerts: { rules: [erring] }, receiver });
  world.show(0, "error");
  await world.poll();
  const [incident] = (await world.daemon().api(listIncidents, {})).incidents;
  const id = incident?.id ?? "";
  const hold = { id, author: "ann", duration: "4m" };
  await world.daemon().api(acknowledgeIncident, hold);
  await world.poll(23);
  await world.restart();
  await world.poll(24);
  const acknowledged = ["erring firing", "erring acknowledged"];
  expect(notifications(world)).toEqual(acknowledged);
  expect(world.alerts[1]?.data.summary).toMatch(/^Acknowledged by ann for 4 min: /);
  await world.poll(2);
  expect(notifications(world)).toEqual([...acknowledged, "erring reminder"]);
  expect(world.alerts[2]?.data.incidents[0]).not.toHaveProperty("acknowledged_by");

  await world.daemon().api(acknowledgeIncident, { id, author: "ann" });
  await world.poll(24);
  const withdrawn = await world.daemon().api(unacknowledgeIncident, { id, author: "bob" });
  expect(withdrawn).toMatchObject({ incident_id: id, author: "ann", ended_by: "bob" });
  await world.restart();
  await world.poll(2);
  expect(notifications(world).slice(3)).toEqual([
    "erring acknowledged",
    "erring unacknowledged",
    "erring reminder",
  ]);
  expect(world.alerts[4]?.data.summary).toMatch(/^Acknowledgement withdrawn by bob: /);
  const again = world.daemon().api(unacknowledgeIncident, { id, author: "bob" });
  await expect(again).rejects.toThrow("is not acknowledged: there is nothing to withdraw");
});
