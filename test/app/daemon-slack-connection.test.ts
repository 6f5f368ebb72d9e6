import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { acknowledgedBy, logged } from "../support/heard.ts";
import { ann, appToken, startSlackService } from "../support/slack-service.ts";
import { fire, receiverOf, slackRules, start, type Slack } from "../support/slack-world.ts";
import { watchWorld, type WatchedWorld } from "../support/watched-world.ts";

/** Lets time pass until it holds. */
async function passUntil({ clock }: WatchedWorld, holds: () => boolean): Promise<void> {
  while (!holds()) {
    clock.advance(100);
    await setImmediate();
  }
}

it("is opened by the process that watches, and ends with it", async () => {
  const slack = await startSlackService(() => 0);
  const world = await watchWorld({ alerts: { rules: slackRules, receivers: [receiverOf(slack)] } });
  await world.address();
  await world.poll();
  expect(slack.state.opened).toBe(0);
  world.daemon().watch();
  await slack.until(() => slack.open().length === 1);
  await world.daemon().stop();
  await slack.until(() => slack.open().length === 0);
});

it("is replaced when Slack asks for that, and no click is lost meanwhile", async () => {
  const { world, slack } = await fire();
  const [old] = slack.open();
  slack.refresh();
  expect(await slack.click("acknowledge", ann)).toBe(true);
  expect(await acknowledgedBy(world)).toEqual(["ann (Slack)"]);
  await passUntil(world, () => slack.state.opened === 2 && old?.isOpen === false);
  expect(slack.open()).toHaveLength(1);
  expect(await slack.click("silence", ann)).toBe(true);
  expect(logged(world, "slack.not_connected")).toEqual([]);
});

it.each<[string, (slack: Slack) => void]>([
  ["closed", (slack) => slack.open()[0]?.peer.close()],
  ["silent, though nothing closed it", (slack) => slack.open()[0]?.peer.fallSilent()],
  [
    "closed by half, by what answers nothing any more",
    (slack) => {
      slack.open()[0]?.peer.close();
      slack.open()[0]?.peer.fallSilent();
    },
  ],
])("is opened again once it is %s", async (_, lose) => {
  const { world, slack } = await fire();
  // It is not replaced while it answers.
  world.clock.advance(30_000);
  await setImmediate();
  expect(slack.state.opened).toBe(1);
  lose(slack);
  await passUntil(world, () => slack.state.opened === 2);
  expect(await slack.click("acknowledge", ann)).toBe(true);
  expect(await acknowledgedBy(world)).toEqual(["ann (Slack)"]);
});

it("is tried again less and less often while Slack refuses the token, which is logged once with what to do", async () => {
  const { world, slack } = await start();
  slack.state.refuses = "invalid_auth";
  const calls = () =>
    slack.server.requests.filter(({ path }) => path.endsWith("/apps.connections.open")).length;
  slack.open()[0]?.peer.close();
  await passUntil(world, () => calls() > 8);
  expect(logged(world, "slack.not_connected")).toMatchObject([
    {
      level: "error",
      receivers: "app",
      reason: "HTTP 200 invalid_auth",
      msg: expect.stringContaining("an app-level token with the scope connections:write"),
    },
  ]);
  expect(await world.metrics()).toContain('sandwatch_receiver_connected{receiver="app"} 0');
  const before = world.clock.now().utcMs;
  await passUntil(world, () => calls() > 12);
  expect(world.clock.now().utcMs - before).toBeGreaterThan(60_000);
  slack.state.refuses = null;
  await passUntil(world, () => logged(world, "slack.connected").length === 2);
  expect(logged(world, "slack.not_connected")).toHaveLength(1);
  expect(await world.metrics()).toContain('sandwatch_receiver_connected{receiver="app"} 1');
});

it("is not opened again before the time that Slack asks to wait", async () => {
  const { world, slack } = await start();
  const calls = () =>
    slack.server.requests.filter(({ path }) => path.endsWith("/apps.connections.open")).length;
  slack.state.retryAfter = "60";
  slack.open()[0]?.peer.close();
  await passUntil(world, () => logged(world, "slack.not_connected").length === 1);
  slack.state.retryAfter = null;
  const before = { calls: calls(), utcMs: world.clock.now().utcMs };
  await passUntil(world, () => calls() > before.calls);
  expect(world.clock.now().utcMs - before.utcMs).toBeGreaterThanOrEqual(60_000);
});

it("is one for all receivers of an app, whose clicks act for the receiver that has the message", async () => {
  let world: WatchedWorld | null = null;
  const slack = await startSlackService(() => world?.clock.now().utcMs ?? 0);
  const others = { name: "others", channel: "others", users: { U0EVE1234: "eve" } };
  const receivers = [receiverOf(slack), receiverOf(slack, others)];
  world = await watchWorld({ alerts: { rules: slackRules, receivers } });
  world.daemon().watch();
  await slack.until(() => slack.state.opened === 1);
  world.show(0, "error");
  await world.poll(2);
  const tsIn = (name: string): string =>
    [...slack.messages].find(([, { channel }]) => channel === name)?.[0] ?? "";
  await slack.click("acknowledge", ann, { ts: tsIn("C-others") });
  expect(await acknowledgedBy(world)).toEqual([null]);
  await slack.click("acknowledge", ann, { ts: tsIn("C-alerts") });
  expect(await acknowledgedBy(world)).toEqual(["ann (Slack)"]);
  expect(slack.state.opened).toBe(1);
});

it("keeps its token and its ticket out of the log, the store and the pages", async () => {
  const { world, slack } = await fire();
  await slack.click("acknowledge", ann);
  slack.open()[0]?.peer.close();
  slack.state.refuses = "invalid_auth";
  await passUntil(world, () => logged(world, "slack.not_connected").length > 0);
  const page = await (await fetch(`${await world.address()}/`)).text();
  const shown = JSON.stringify(world.log) + page + (await world.metrics());
  expect(shown).not.toContain("T0PSECRET");
  expect(shown).not.toContain(appToken);
  expect(shown).not.toContain("ticket");
});
