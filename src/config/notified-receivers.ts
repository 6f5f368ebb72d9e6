import { Places } from "../alerts/recipients.ts";
import type { ConfiguredReceivers, ReceiverRoute } from "../alerts/recipients.ts";
import type { Target } from "../fleet/model.ts";
import { weeklyHours } from "../lib/weekly-hours.ts";
import type { Config } from "./config.ts";
import { configuredTargets } from "./configured-targets.ts";
import type { ReceiverConfig } from "./schema-receivers.ts";
import { targetsMatching } from "./schema-routing.ts";

type NotifiedReceiver = Exclude<ReceiverConfig, { readonly type: "heartbeat" }>;

/** All receivers but heartbeats, and which incidents each is notified of, and when. */
export function notifiedReceivers(config: Config): ConfiguredReceivers {
  const targets = configuredTargets(config);
  const { receivers, escalate } = config.alerts;
  return new Map(
    receivers
      .filter((receiver) => receiver.type !== "heartbeat")
      .map((receiver) => {
        const { name, hours } = receiver;
        const isOpenAt = hours && weeklyHours(hours.open, hours.timeZone);
        const route = routeOf(receiver, config, targets);
        const step = escalate.find((each) => each.receivers.includes(name));
        return [name, { ...receiver, route, isOpenAt, escalatedAfterMs: step?.afterMs }];
      }),
  );
}

function routeOf(
  { match }: NotifiedReceiver,
  { keys }: Pick<Config, "keys">,
  targets: readonly Target[],
): ReceiverRoute | null {
  if (!match) return null;
  const { region, key, labels, ...others } = match;
  if (!region && !key && !labels) return { places: null, match: others };
  return { places: new Places(targetsMatching(match, targets, keys)), match: others };
}
