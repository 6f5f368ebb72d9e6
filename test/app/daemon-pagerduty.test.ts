import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { explainServer } from "../../src/api/operations/explain.ts";
import {
  acknowledgeIncident,
  unacknowledgeIncident,
} from "../../src/api/operations/acknowledgements.ts";
import { showIncident } from "../../src/api/operations/show-incident.ts";
import type { Store } from "../../src/store/store.ts";
import { acknowledgedBy, incidents, logged } from "../support/heard.ts";
import { ann, bob, pagerAt, startPagerdutyService } from "../support/pagerduty-service.ts";
import { watchWorld, type WatchedWorld, type WorldOptions } from "../support/watched-world.ts";

/** A daemon with a PagerDuty receiver, of whose users the configuration names Ann. */
async function start(options: WorldOptions = {}) {
  let world: WatchedWorld | null = null;
  const address = async (): Promise<string> => (await world?.address()) ?? "";
  const pagerduty = await startPagerdutyService(address, () => world?.clock.now().utcMs ?? 0);
  const receivers = [pagerAt(pagerduty.server.origin)];
  const rules = [{ name: "err", on: "server", status: "error", remind_every: "10s" }];
  world = await watchWorld({ ...options, alerts: { rules, receivers } });
  return { world, pagerduty };
}

/** One that fires. */
async function fire(options: WorldOptions = {}) {
  const { world, pagerduty } = await start(options);
  world.show(0, "error");
  await world.poll();
  return { world, pagerduty };
}

/** As a database on another machine does. */
function answeringLate(store: Store): Store {
  const { receiverEvents } = store;
  const isHandled: typeof receiverEvents.isHandled = async (...event) => {
    const answer = await receiverEvents.isHandled(...event);
    for (let turn = 0; turn < 100; turn += 1) await setImmediate();
    return answer;
  };
  return { ...store, receiverEvents: { ...receiverEvents, isHandled } };
}

/** What happened to the incident that began last. */
async function happened(world: WatchedWorld): Promise<readonly string[]> {
  const [incident] = await incidents(world);
  const { events } = await world.daemon().api(showIncident, { id: incident?.id ?? "" });
  return events.map(({ text }) => text);
}

describe("who acts in PagerDuty", () => {
  it("acknowledges by the name that the configuration has, which stops reminders, and withdraws it", async () => {
    const { world, pagerduty } = await fire();
    const acknowledged = await pagerduty.send("incident.acknowledged", ann);
    expect([acknowledged.status, acknowledged.done]).toEqual([
      200,
      "ann (PagerDuty) acknowledged 1 incident.",
    ]);
    expect(await acknowledgedBy(world)).toEqual(["ann (PagerDuty)"]);
    const before = pagerduty.events.filter((event) => event.event_action === "trigger").length;
    await world.poll(4);
    expect(pagerduty.events.filter((event) => event.event_action === "trigger")).toHaveLength(
      before,
    );
    const withdrawn = await pagerduty.send("incident.unacknowledged", ann);
    expect(withdrawn.done).toBe("ann (PagerDuty) withdrew 1 acknowledgement.");
    expect(await acknowledgedBy(world)).toEqual([null]);
    await world.poll(3);
    expect(pagerduty.events.at(-1)?.event_action).toBe("trigger");
  });

  it("is shown on the page, in explain, in the log and in the audit log", async () => {
    const { world, pagerduty } = await fire();
    await pagerduty.send("incident.acknowledged", ann);
    await pagerduty.send("incident.annotated", ann, { content: "restarting it <b>now</b>" });
    const [incident] = await incidents(world);
    const page = await (await fetch(`${await world.address()}/incidents/${incident?.id}`)).text();
    expect(page).toContain("by ann (PagerDuty)");
    expect(page).toContain("ann (PagerDuty): restarting it &lt;b&gt;now&lt;/b&gt;");
    const explained = await world.daemon().api(explainServer, { server: world.serverIds[0] ?? "" });
    expect(explained.events.map(({ event, text }) => [event, text])).toEqual(
      expect.arrayContaining([
        ["incident.acknowledged", "err: acknowledged by ann (PagerDuty)"],
        ["incident.noted", "ann (PagerDuty): restarting it <b>now</b>"],
      ]),
    );
    expect(logged(world, "incident.acknowledged")).toMatchObject([{ author: "ann (PagerDuty)" }]);
    expect(logged(world, "audit")).toMatchObject([
      {
        user: "ann (PagerDuty)",
        role: "operator",
        operation: "receivePagerdutyEvent",
        path: "/api/v1/integrations/pagerduty/pager",
        status: 200,
      },
      { user: "ann (PagerDuty)" },
    ]);
  });

  it("claims no recovery by resolving there: it is an acknowledgement until the end is observed", async () => {
    const { world, pagerduty } = await fire();
    const { done } = await pagerduty.send("incident.resolved", ann);
    expect(done).toContain("until sandwatch observes their end");
    expect(await incidents(world)).toMatchObject([
      { state: "firing", acknowledged_by: "ann (PagerDuty)", note: "resolved in PagerDuty" },
    ]);
    const sent = pagerduty.events.length;
    await world.poll(4);
    // Not a trigger, which would open the alert again.
    expect(pagerduty.events.slice(sent).map((event) => event.event_action)).toEqual([
      "acknowledge",
    ]);
    expect(pagerduty.state.opened).toBe(1);
    world.show(0, "idle");
    await world.poll(2);
    expect(await incidents(world)).toMatchObject([{ state: "resolved" }]);
  });

  it("changes nothing if the configuration does not name them, which is logged and shown", async () => {
    const { world, pagerduty } = await fire();
    const refused = await pagerduty.send("incident.acknowledged", bob);
    const text =
      "Bob Example (PBOB123) acknowledged it in PagerDuty. pager.users in the configuration does not name this user: nothing was changed.";
    // Accepted: PagerDuty would disable a webhook that is refused.
    expect([refused.status, refused.done]).toEqual([200, text]);
    for (const type of ["incident.unacknowledged", "incident.annotated", "incident.resolved"]) {
      expect((await pagerduty.send(type, bob)).done).toContain("nothing was changed");
    }
    expect(await acknowledgedBy(world)).toEqual([null]);
    expect(await happened(world)).toContain(`PagerDuty: ${text}`);
    expect(logged(world, "webhook.received")[0]).toMatchObject({ level: "warn", user: bob.id });
    expect(logged(world, "audit")).toEqual([]);
  });
});

describe("an acknowledgement of sandwatch", () => {
  it("is sent to PagerDuty, whose echo changes nothing, and whose time limit does not end it", async () => {
    const { world, pagerduty } = await fire();
    const [incident] = await incidents(world);
    const id = incident?.id ?? "";
    await world.daemon().api(acknowledgeIncident, { id, author: "eve" });
    await world.poll();
    expect(pagerduty.events.at(-1)?.event_action).toBe("acknowledge");
    const echo = await pagerduty.send("incident.acknowledged", "integration");
    expect(echo.done).toBe("No user did this: nothing was changed.");
    await pagerduty.send("incident.unacknowledged", null);
    expect(await acknowledgedBy(world)).toEqual(["eve"]);
    await world.daemon().api(unacknowledgeIncident, { id, author: "eve" });
    await pagerduty.send("incident.acknowledged", ann);
    // Of what was acknowledged in PagerDuty it does end it.
    await pagerduty.send("incident.unacknowledged", null);
    expect(await acknowledgedBy(world)).toEqual([null]);
    expect(await happened(world)).toContain("err: acknowledgement withdrawn by PagerDuty");
  });
});

describe("an event of PagerDuty", () => {
  it("is handled once, also after a restart, however often it is sent", async () => {
    const { world, pagerduty } = await fire({ wrapStore: answeringLate });
    const id = "01EVENT";
    const sent = Array.from({ length: 8 }, () =>
      pagerduty.send("incident.acknowledged", ann, { id }),
    );
    const again = "This event was handled before: nothing was changed.";
    const answers = (await Promise.all(sent)).map(({ done }) => done);
    expect(answers.filter((done) => done === again)).toHaveLength(7);
    await pagerduty.send("incident.unacknowledged", ann);
    await world.restart();
    const late = await pagerduty.send("incident.acknowledged", ann, { id });
    expect(late.done).toBe(again);
    expect(await acknowledgedBy(world)).toEqual([null]);
  });

  it.each([-25, 25])("that is %i hours away changes nothing", async (hours) => {
    const { world, pagerduty } = await fire();
    const occurredAtMs = world.clock.now().utcMs + hours * 3_600_000;
    const { status, done } = await pagerduty.send("incident.acknowledged", ann, { occurredAtMs });
    expect([status, done]).toEqual([200, expect.stringContaining("more than a day away")]);
    expect(await acknowledgedBy(world)).toEqual([null]);
  });

  it("about an incident that resolved meanwhile is accepted, kept as a note, and concerns no later one", async () => {
    const { world, pagerduty } = await fire();
    const occurredAtMs = world.clock.now().utcMs;
    world.show(0, "idle");
    await world.poll(14);
    const late = await pagerduty.send("incident.acknowledged", ann, { occurredAtMs });
    expect([late.status, late.done]).toEqual([
      200,
      "ann (PagerDuty) acknowledged it, but no incident of this alert fires any more: nothing was changed.",
    ]);
    expect(await happened(world)).toContain(
      "ann (PagerDuty): acknowledged it in PagerDuty, after it had resolved",
    );
    world.show(0, "error");
    await world.poll();
    await pagerduty.send("incident.acknowledged", ann, { occurredAtMs });
    expect(await acknowledgedBy(world)).toEqual([null, null]);
  });

  it("of a type that changes nothing states which alert later notes are about", async () => {
    const { world, pagerduty } = await fire();
    const unknown = await pagerduty.send("incident.annotated", ann, { content: "lost?" });
    expect([unknown.status, unknown.done]).toEqual([
      200,
      expect.stringContaining("subscribe to incident.triggered"),
    ]);
    const { done } = await pagerduty.send("incident.triggered", null);
    expect(done).toBe("Events of this type change nothing.");
    await pagerduty.send("incident.annotated", ann, { content: "found" });
    expect(await happened(world)).toContain("ann (PagerDuty): found");
    expect((await pagerduty.send("pagey.ping", null)).status).toBe(200);
  });

  it("concerns the incidents of its alert alone", async () => {
    const { world, pagerduty } = await start({ regions: ["us", "eu"] });
    world.show(0, "error");
    world.show(1, "error");
    await world.poll();
    await pagerduty.send("incident.acknowledged", ann, { key: "of another alert" });
    expect(await acknowledgedBy(world)).toEqual([null, null]);
    const { done } = await pagerduty.send("incident.acknowledged", ann);
    expect(done).toBe("ann (PagerDuty) acknowledged 2 incidents.");
  });
});
