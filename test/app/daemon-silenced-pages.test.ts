import { describe, expect, it } from "vitest";
import { expireSilence } from "../../src/api/operations/change-silence.ts";
import { addSilence } from "../../src/api/operations/silences.ts";
import { startPagerduty } from "../notify/support/pagerduty.ts";
import { watchWorld } from "../support/watched-world.ts";

/** Servers in error, of which PagerDuty was notified. */
async function openWorld(inError: readonly number[], more: object = {}) {
  const pagerduty = await startPagerduty();
  const pager = {
    name: "pager",
    type: "pagerduty",
    routing_key: "k".repeat(32),
    url: `${pagerduty.server.origin}/`,
    group_wait: "0s",
    ...more,
  };
  const rules = [{ name: "err", on: "server", status: "error" }];
  const world = await watchWorld({ alerts: { receivers: [pager], rules } });
  for (const server of inError) world.show(server, "error");
  await world.poll(2);
  const silence = (match: object, duration = "2h") =>
    world.daemon().api(addSilence, { match, author: "ann", reason: "it moves", duration });
  const sent = () =>
    pagerduty.events.map(
      ({ event_action: action, payload }) =>
        `${action} ${payload.summary.replaceAll(/\b\w+ server\b/g, "server")}`,
    );
  return { world, silence, sent, serverIds: world.serverIds, state: pagerduty.state };
}

const since = "in error in us/research since 09:30 UTC";

describe("a silence of what PagerDuty was notified of", () => {
  it("acknowledges the alert, which pages again if the error outlasts the silence", async () => {
    const { world, silence, sent, state } = await openWorld([0]);
    const { id } = await silence({ region: "us" });
    await world.poll(2);
    await world.restart();
    await world.poll(2);
    expect(sent().slice(1)).toEqual([
      `acknowledge Silenced by ann for 2h, still firing: 1 server ${since}`,
    ]);
    expect([...state.open.values()]).toMatchObject([{ state: "acknowledged" }]);
    await world.daemon().api(expireSilence, { id });
    await world.poll(2);
    expect(sent().slice(2)).toEqual([
      `resolve Silence is over, still firing: 1 server ${since}; 1 of 3 servers in error`,
      `trigger 1 server ${since}; 1 of 3 servers in error`,
    ]);
    expect([state.opened, ...state.open.values()]).toMatchObject([2, { state: "triggered" }]);
    expect(new Set(state.open.keys()).size).toBe(1);
    world.show(0, "idle");
    await world.poll(2);
    expect([sent().at(-1)?.startsWith("resolve Resolved after"), state.open.size]).toEqual([
      true,
      0,
    ]);
  });

  it("ends the alert when the server recovers meanwhile, and not before", async () => {
    const { world, silence, sent, state } = await openWorld([0]);
    await silence({ region: "us" });
    await world.poll(20);
    expect(state.open.size).toBe(1);
    world.show(0, "idle");
    await world.poll(2);
    expect(sent()).toHaveLength(3);
    expect(sent()[2]).toMatch(/^resolve Resolved after 1 min: 1 server in error in us\/research$/);
    expect([state.opened, state.open.size]).toEqual([1, 0]);
  });

  it("pages again when the hours begin, where the silence ended outside them", async () => {
    const hours = { open: ["mon-sun 09:00-09:32", "mon-sun 09:34-10:00"], time_zone: "UTC" };
    const { world, silence, sent, state } = await openWorld([0], { hours });
    const pollUntil = async (minute: number) => {
      while (new Date(world.clock.now().utcMs).getUTCMinutes() < minute) await world.poll();
    };
    const { id } = await silence({ region: "us" });
    await pollUntil(33);
    await world.daemon().api(expireSilence, { id });
    await world.poll(2);
    await world.restart();
    await world.poll(2);
    expect([...state.open.values()]).toMatchObject([{ state: "acknowledged" }]);
    expect(sent()).toHaveLength(2);
    await pollUntil(35);
    expect(sent().slice(2)).toEqual([
      expect.stringContaining("resolve Silence is over, still firing: 1 server in error"),
      expect.stringContaining("trigger 1 server in error"),
    ]);
    expect([state.opened, ...state.open.values()]).toMatchObject([2, { state: "triggered" }]);
    world.show(0, "idle");
    await world.poll(2);
    expect(state.open.size).toBe(0);
  });

  it("leaves the alert as it is while another server fires, and acknowledges it then", async () => {
    const { world, silence, sent, serverIds } = await openWorld([0, 1]);
    await silence({ server_id: serverIds[0] });
    await world.poll(2);
    expect(sent()).toHaveLength(1);
    world.show(1, "idle");
    await world.poll(2);
    expect(sent().slice(1)).toEqual([`acknowledge Silenced, still firing: 1 server ${since}`]);
  });

  it("notifies nobody else of the end", async () => {
    const world = await watchWorld();
    world.show(0, "error");
    await world.poll(2);
    const request = { match: { region: "us" }, author: "ann", reason: "moves", duration: "2h" };
    await world.daemon().api(addSilence, request);
    await world.poll(2);
    world.show(0, "idle");
    await world.poll(2);
    expect(world.alerts.map(({ type }) => type)).toEqual(["incident.firing", "incident.resolved"]);
  });
});
