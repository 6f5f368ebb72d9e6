import { setImmediate } from "node:timers/promises";
import { ann, appToken, botToken, startSlackService } from "./slack-service.ts";
import { watchWorld, type WatchedWorld, type WorldOptions } from "./watched-world.ts";

export type Slack = Awaited<ReturnType<typeof startSlackService>>;

export const slackRules = [{ name: "err", on: "server", status: "error", remind_every: "10s" }];

export function receiverOf({ url }: Slack, more: object = {}): object {
  return {
    name: "app",
    type: "slack_app",
    url,
    token: botToken,
    channel: "alerts",
    group_wait: "0s",
    app_token: appToken,
    users: { [ann.id]: "ann" },
    ...more,
  };
}

/** A daemon that is connected to Slack, of whose users the configuration names Ann. */
export async function start(
  options: WorldOptions & { readonly receiver?: object; readonly rules?: readonly object[] } = {},
) {
  let world: WatchedWorld | null = null;
  const slack = await startSlackService(() => world?.clock.now().utcMs ?? 0);
  const { receiver, rules = slackRules, ...others } = options;
  world = await watchWorld({
    alerts: { rules, receivers: [receiverOf(slack, receiver)] },
    ...others,
  });
  world.daemon().watch();
  while (!world.log.some(({ event }) => event === "slack.connected")) await setImmediate();
  return { world, slack };
}

/** One whose first server is in error, which is in the channel. */
export async function fire(options: WorldOptions & { readonly receiver?: object } = {}) {
  const started = await start(options);
  started.world.show(0, "error");
  await started.world.poll(2);
  return started;
}
