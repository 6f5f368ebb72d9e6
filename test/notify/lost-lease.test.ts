import { expect, it } from "vitest";
import { Secret } from "../../src/lib/secret.ts";
import { createPagerdutyReceiver } from "../../src/notify/receivers/pagerduty.ts";
import type { PagerdutyDeps } from "../../src/notify/receivers/pagerduty.ts";
import { oneByOne, openDelivery } from "./support/delivery.ts";
import { startMs } from "./support/items.ts";
import { firing, openNotifiedStore, resolved } from "./support/notified-store.ts";
import { openOutbound } from "./support/outbound.ts";
import { startPagerduty } from "./support/pagerduty.ts";

it("a delivery that lost its lease between two requests leaves the second to the next owner, whose alert stays open", async () => {
  const { server, state, events } = await startPagerduty();
  const { outbox: store, commit } = await openNotifiedStore();
  const { notified } = store.store;
  const open = (notifiedAlerts: PagerdutyDeps["notifiedAlerts"], mayAct: () => boolean) =>
    openDelivery(
      (clock) => [
        {
          ...oneByOne,
          // A notification has alerts of several causes when it was composed before the receiver was one of PagerDuty.
          groupBy: ["rule"],
          receiver: createPagerdutyReceiver(
            { name: "am", url: server.url, routingKey: new Secret("0".repeat(32)) },
            { clock, outbound: openOutbound(clock, { mayAct }), notifiedAlerts },
          ),
        },
      ],
      { store, mayAct },
    );
  let mayAct = true;
  let onRead = async (): Promise<void> => {};
  const first = open(
    {
      ...notified,
      async firingOf(...of) {
        const read = await notified.firingOf(...of);
        await onRead();
        return read;
      },
    },
    () => mayAct,
  );
  const next = open(notified, () => true);
  const ofTarget = { subject: { kind: "target" }, status: null } as const;
  await commit(firing("a"), firing("b", ofTarget));
  await first.pass(0);
  expect([state.open.size, first.observed]).toEqual([2, ["delivered am 0s"]]);

  await commit(resolved("a", startMs), resolved("b", startMs, ofTarget));
  onRead = async () => {
    if (events.length === 2) return;
    // It has resolved the first alert, and has read that nothing of the second fires.
    mayAct = false;
    await commit(firing("c", ofTarget));
    await next.pass(0);
  };
  await first.pass(0);
  const actions = events.map((event) => event.event_action);
  expect(actions).toEqual(["trigger", "trigger", "resolve", "resolve", "trigger"]);
  expect(state.open.size).toBe(1);
  expect(first.observed).toEqual(["delivered am 0s"]);
  expect(next.observed).toEqual(["delivered am 0s", "delivered am 0s"]);
  expect(await store.states()).toEqual(["delivered", "delivered", "delivered"]);
});
