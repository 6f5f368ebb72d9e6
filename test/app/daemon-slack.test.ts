import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { explainServer } from "../../src/api/operations/explain.ts";
import { showIncident } from "../../src/api/operations/show-incident.ts";
import { listSilences } from "../../src/api/operations/silences.ts";
import { acknowledgedBy, incidents, logged } from "../support/heard.ts";
import { ann, bob } from "../support/slack-service.ts";
import { fire, start } from "../support/slack-world.ts";
import type { WatchedWorld } from "../support/watched-world.ts";

async function silences(world: WatchedWorld) {
  return (await world.daemon().api(listSilences, {})).silences;
}

describe("the buttons of a Slack app", () => {
  it("acknowledge, by the name that the configuration has, which the message then says", async () => {
    const { world, slack } = await fire();
    expect([...slack.messages.values()].map(({ buttons }) => buttons)).toEqual([
      ["acknowledge", "silence"],
    ]);
    expect(await slack.click("acknowledge", ann)).toBe(true);
    expect(await acknowledgedBy(world)).toEqual(["ann (Slack)"]);
    await slack.until(() => slack.answers.length > 0);
    expect(slack.answers).toEqual([`${ann.id}: ann (Slack) acknowledged 1 incident.`]);
    await world.poll();
    expect(slack.shown()[0]).toMatch(/^👀 Acknowledged .*Acknowledged by ann \(Slack\)/);
    expect([...slack.messages.values()].map(({ buttons }) => buttons)).toEqual([["silence"], []]);
  });

  it("silence for an hour, which the message says with who did it", async () => {
    const { world, slack } = await fire();
    expect(await slack.click("silence", ann)).toBe(true);
    const [id = ""] = world.serverIds;
    expect(await silences(world)).toMatchObject([
      {
        match: { rule: ["err"], region: ["us"], key: ["research"], server_id: [id] },
        author: "ann (Slack)",
        reason: "silenced in Slack",
        state: "in_force",
      },
    ]);
    await slack.until(() => slack.answers.length > 0);
    expect(slack.answers[0]).toMatch(/: ann \(Slack\) silenced .* until 2026-11-20 10:30 UTC\.$/);
    await world.poll(2);
    expect(slack.shown()[0]).toMatch(
      /^🔕 Silenced .*Silenced by ann \(Slack\) for 1h, still firing/,
    );
    expect([...slack.messages.values()].map(({ buttons }) => buttons)).toEqual([[], []]);
    world.clock.advance(3_600_000);
    await world.poll(2);
    // It still fires when the silence ends.
    expect(slack.shown().at(-1)).toMatch(/^🔴 Firing/);
  });

  it("silence what all incidents of a message have in common", async () => {
    const { world, slack } = await start();
    for (const index of world.serverIds.keys()) world.show(index, "error");
    await world.poll(2);
    await slack.click("silence", ann);
    const [silence] = await silences(world);
    expect(silence?.match).toEqual({
      rule: ["err"],
      region: ["us"],
      key: ["research"],
      sandbox_id: [expect.any(String)],
    });
  });

  it("silence in no other region and of no other key than those in the message", async () => {
    const receiver = { match: { key: ["research", "search"] }, group_by: ["rule"] };
    const keys = ["research", "search", "agents"];
    const rules = [{ name: "down", on: "target", failing: { polls: 1 } }];
    const { world, slack } = await start({ keys, receiver, rules });
    world.fail({ kind: "status", status: 503 });
    await world.poll(2);
    await slack.click("silence", ann);
    const [silence] = await silences(world);
    expect(silence?.match).toEqual({
      rule: ["down"],
      region: ["us"],
      key: ["research", "search"],
    });
  });

  it("show on the page, in explain, in the log and in the audit log who clicked", async () => {
    const { world, slack } = await fire();
    await slack.click("acknowledge", ann);
    const [incident] = await incidents(world);
    const page = await (await fetch(`${await world.address()}/incidents/${incident?.id}`)).text();
    expect(page).toContain("by ann (Slack)");
    const explained = await world.daemon().api(explainServer, { server: world.serverIds[0] ?? "" });
    expect(explained.events.map(({ text }) => text)).toContain("err: acknowledged by ann (Slack)");
    expect(logged(world, "incident.acknowledged")).toMatchObject([{ author: "ann (Slack)" }]);
    expect(logged(world, "audit")).toMatchObject([
      { user: "ann (Slack)", role: "operator", operation: "receiveSlackClick", receiver: "app" },
    ]);
  });

  it("change nothing for users whom the configuration does not name, which the answer, the log and the history say", async () => {
    const { world, slack } = await fire();
    for (const action of ["acknowledge", "silence"]) {
      expect(await slack.click(action, bob)).toBe(true);
    }
    expect([await acknowledgedBy(world), await silences(world)]).toEqual([[null], []]);
    await slack.until(() => slack.answers.length === 2);
    expect(slack.answers[0]).toBe(
      `${bob.id}: bob &lt;b&gt; &amp; co (${bob.id}) clicked Acknowledge in Slack. app.users in the configuration does not name this user: nothing was changed.`,
    );
    const [incident] = await incidents(world);
    const { events } = await world.daemon().api(showIncident, { id: incident?.id ?? "" });
    expect(events.map(({ text }) => text)).toContainEqual(
      expect.stringContaining(`(${bob.id}) clicked Silence in Slack`),
    );
    expect(logged(world, "slack.clicked")).toMatchObject([
      { level: "warn", user: bob.id },
      { level: "warn", user: bob.id },
    ]);
    expect(logged(world, "audit")).toEqual([]);
  });

  it("change nothing once everything in their message has ended", async () => {
    const { world, slack } = await fire();
    const [ts = ""] = slack.messages.keys();
    world.show(0, "idle");
    await world.poll(2);
    expect(slack.messages.get(ts)?.buttons).toEqual([]);
    // Somebody still sees the message as it was.
    expect(await slack.click("silence", ann, { ts })).toBe(true);
    await slack.until(() => slack.answers.length > 0);
    expect(slack.answers).toEqual([
      `${ann.id}: sandwatch knows no incident of this message that still fires: nothing was changed.`,
    ]);
    expect(await silences(world)).toEqual([]);
  });

  it("act once and answer once, however often Slack sends a click, also after a restart", async () => {
    const { world, slack } = await fire();
    const [ts = ""] = slack.messages.keys();
    const payload = slack.payloadOf("silence", ann, {
      channel: "C-alerts",
      ts,
      actionTs: `${world.clock.now().utcMs / 1_000}.000001`,
    });
    expect(await slack.send(payload)).toBe(true);
    const [{ ends_at: endsAt } = { ends_at: "" }] = await silences(world);
    world.clock.advance(20_000);
    expect(await slack.send(payload)).toBe(true);
    await world.restart();
    world.daemon().watch();
    await slack.until(() => slack.state.opened === 2);
    expect(await slack.send(payload)).toBe(true);
    expect((await silences(world)).map((each) => each.ends_at)).toEqual([endsAt]);
    await slack.click("acknowledge", ann, { ts });
    await slack.until(() => slack.answers.some((text) => text.includes("knows no incident")));
    expect(slack.answers).toHaveLength(2);
  });

  it("act also where Slack does not accept the answer, which is logged", async () => {
    const { world, slack } = await fire();
    slack.state.answersNot = "user_not_in_channel";
    expect(await slack.click("acknowledge", ann)).toBe(true);
    while (logged(world, "slack.not_answered").length === 0) await setImmediate();
    expect(logged(world, "slack.not_answered")).toMatchObject([
      { level: "warn", receiver: "app", reason: "HTTP 200 user_not_in_channel" },
    ]);
    expect(await acknowledgedBy(world)).toEqual(["ann (Slack)"]);
  });

  it("leave alone what no button of sandwatch sent", async () => {
    const { world, slack } = await fire();
    const [ts = ""] = slack.messages.keys();
    const at = { channel: "C-alerts", ts, actionTs: "1.1" };
    const payloads = [
      slack.payloadOf("approve", ann, at),
      { ...slack.payloadOf("silence", ann, at), type: "view_submission" },
      { ...slack.payloadOf("silence", ann, at), actions: [] },
      {},
    ];
    for (const payload of payloads) expect(await slack.send(payload)).toBe(true);
    slack.open()[0]?.peer.send({ type: "other" });
    expect(await slack.click("acknowledge", ann)).toBe(true);
    expect([await acknowledgedBy(world), await silences(world)]).toEqual([["ann (Slack)"], []]);
  });
});
