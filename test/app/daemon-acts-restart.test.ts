import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { StoreError } from "../../src/store/store-error.ts";
import type { Store } from "../../src/store/store.ts";
import { incidents, logged } from "../support/heard.ts";
import {
  ann as annInPagerduty,
  pagerAt,
  startPagerdutyService,
} from "../support/pagerduty-service.ts";
import { ann, startSlackService } from "../support/slack-service.ts";
import { receiverOf, slackRules } from "../support/slack-world.ts";
import { watchWorld, type WatchedWorld } from "../support/watched-world.ts";

/** What becomes of what somebody did: the process ends before it acted, or after that before it stored that it did. */
type End = "before it acted" | "after it acted";

/** A store that takes no more of an act than that, as of a process that ends then. */
function endingStore() {
  let end: End | null = null;
  const ended = (): Promise<never> => Promise.reject(new StoreError("the process ended"));
  const wrapStore = (store: Store): Store => ({
    ...store,
    acknowledgements: {
      ...store.acknowledgements,
      acknowledge: (...given) =>
        end === "before it acted" ? ended() : store.acknowledgements.acknowledge(...given),
    },
    receiverEvents: {
      ...store.receiverEvents,
      handled: (...given) => (end === null ? store.receiverEvents.handled(...given) : ended()),
    },
  });
  return { wrapStore, endAt: (next: End | null) => void (end = next) };
}

const acted = (world: WatchedWorld): number => logged(world, "incident.acknowledged").length;

it.each<[End, number]>([
  ["before it acted", 0],
  ["after it acted", 1],
])(
  "a webhook of PagerDuty whose process ended %s acts once, as PagerDuty repeats it",
  async (end, before) => {
    const { wrapStore, endAt } = endingStore();
    let world: WatchedWorld | null = null;
    const pagerduty = await startPagerdutyService(
      async () => (await world?.address()) ?? "",
      () => world?.clock.now().utcMs ?? 0,
    );
    const receivers = [pagerAt(pagerduty.server.origin)];
    world = await watchWorld({ wrapStore, alerts: { rules: slackRules, receivers } });
    world.show(0, "error");
    await world.poll();
    const occurredAtMs = world.clock.now().utcMs;
    const send = () =>
      pagerduty.send("incident.acknowledged", annInPagerduty, { id: "01EVENT", occurredAtMs });
    endAt(end);
    // PagerDuty sends it again after any 5xx.
    expect((await send()).status).toBe(503);
    expect(acted(world)).toBe(before);
    endAt(null);
    world.clock.advance(1_000);
    await world.restart();
    for (let times = 0; times < 2; times += 1) expect((await send()).status).toBe(200);
    expect(acted(world)).toBe(1);
    const sinceMs = occurredAtMs + (before === 0 ? 1_000 : 0);
    expect(await incidents(world)).toMatchObject([
      { acknowledged_by: "ann (PagerDuty)", acknowledged_at: new Date(sinceMs).toISOString() },
    ]);
    await world.poll(3);
    const sent = pagerduty.events.filter(({ event_action: action }) => action === "acknowledge");
    expect(sent).toHaveLength(1);
  },
);

it.each<[End, number]>([
  ["before it acted", 0],
  ["after it acted", 1],
])(
  "a click in Slack whose process ended %s is not acknowledged to Slack, and acts once if it comes again",
  async (end, before) => {
    const { wrapStore, endAt } = endingStore();
    let world: WatchedWorld | null = null;
    const slack = await startSlackService(() => world?.clock.now().utcMs ?? 0);
    world = await watchWorld({
      wrapStore,
      alerts: { rules: slackRules, receivers: [receiverOf(slack)] },
    });
    world.daemon().watch();
    await slack.until(() => slack.state.opened === 1);
    world.show(0, "error");
    await world.poll(2);
    const [ts = ""] = slack.messages.keys();
    const actionTs = `${world.clock.now().utcMs / 1_000}.000001`;
    const payload = slack.payloadOf("acknowledge", ann, { channel: "C-alerts", ts, actionTs });
    endAt(end);
    const lost = slack.send(payload);
    while (logged(world, "slack.click_failed").length === 0) await setImmediate();
    expect(acted(world)).toBe(before);
    await world.restart();
    expect(await lost).toBe(false);
    endAt(null);
    world.daemon().watch();
    await slack.until(() => slack.state.opened === 2);
    expect(await slack.send(payload)).toBe(true);
    expect(acted(world)).toBe(1);
  },
);
