import type { Notification } from "../../core/notification.ts";
import { batches } from "../../platform/paced.ts";
import type { Secret } from "../../platform/secret.ts";
import type { AttemptResult } from "../attempt.ts";
import type { DeliveryObserver, Log } from "../observer.ts";
import { createOutbound } from "../outbound.ts";
import type { OutboundDeps } from "../outbound.ts";
import type { AttemptFailure, Receiver, SendResult } from "../receiver.ts";
import { createRepeater } from "../repeater.ts";
import { isFinal } from "../retry.ts";
import type { ToldAlerts } from "../told-alerts.ts";
import { renderAlert, repostEveryMs, testAlert } from "./alertmanager-alert.ts";
import type { PostableAlert } from "./alertmanager-alert.ts";
import { createInstance, type Instance } from "./alertmanager-instance.ts";
import { readAlerts, type WordedAlert } from "./alertmanager-state.ts";

export interface AlertmanagerReceiverSettings {
  readonly name: string;
  readonly type: "alertmanager";
  /** The base address of every instance; each gets every alert, as from Prometheus. */
  readonly urls: readonly Secret[];
  readonly bearerToken: Secret | null;
  /** What an alert links to; null: nothing. */
  readonly generatorUrl: string | null;
}

export interface AlertmanagerReceiverDeps extends OutboundDeps {
  readonly toldAlerts: ToldAlerts;
  readonly log: Log;
  readonly observe: Pick<DeliveryObserver, "attemptFailed">;
}

const alertsPerRequest = 500;

const storeFailure: AttemptFailure = {
  kind: "failed",
  reason: "network",
  detail: "the store failed",
  retryAfterMs: null,
};

/**
 * Posts alerts to the API v2 of Alertmanager. That wants states, not steps: what is posted is what
 * the store says now, so that nothing late or repeated undoes what came after it. A notification only
 * makes its alerts be posted at once, and is delivered when one instance took them; everything is
 * posted to every instance again each minute.
 *
 * @throws {Error} when an address cannot be used; it does not show it
 */
export function createAlertmanagerReceiver(
  { name, urls, bearerToken, generatorUrl }: AlertmanagerReceiverSettings,
  deps: AlertmanagerReceiverDeps,
): Receiver {
  const { clock, toldAlerts, log, observe } = deps;
  const outbound = createOutbound(deps);
  const closing = new AbortController();
  const instances = urls.map((url, index) =>
    createInstance({ receiver: name, number: index + 1, url, bearerToken, outbound, clock, log }),
  );
  const refreshing = new Map<Instance, Promise<void>>();
  let storeFailing = false;

  const now = (): { nowMs: number; generatorUrl: string | null } => {
    return { nowMs: clock.now().utcMs, generatorUrl };
  };

  /** Rendered only as they are posted, so that a slow instance gets no old times. */
  function* render(
    alerts: readonly WordedAlert[],
  ): Generator<readonly PostableAlert[], void, void> {
    for (const batch of batches(alerts, alertsPerRequest)) {
      yield batch.map(({ alert, words }) => renderAlert(alert, words, now()));
    }
  }

  const read = async (about?: ReadonlySet<string>): Promise<readonly WordedAlert[] | null> => {
    try {
      const alerts = await readAlerts(toldAlerts, name, clock.now().utcMs, about);
      storeFailing = false;
      return alerts;
    } catch (error) {
      const fields = { event: "delivery.store_failed", receiver: name, error: String(error) };
      if (!storeFailing) log.error(fields, `${name}: the store failed, alerts are posted later`);
      storeFailing = true;
      return null;
    }
  };

  const refresh = async (instance: Instance, alerts: readonly WordedAlert[]): Promise<void> => {
    const result = await instance.post(render(alerts), closing.signal);
    if (result.kind === "failed") observe.attemptFailed(name, result.reason);
    refreshing.delete(instance);
  };

  const refreshAll = async (): Promise<void> => {
    const alerts = await read();
    if (alerts === null) return;
    for (const instance of instances) {
      // One that hangs gets no second round beside the first, and delays no other.
      if (refreshing.has(instance)) continue;
      refreshing.set(instance, refresh(instance, alerts));
    }
  };

  const repeater = createRepeater({
    clock,
    everyMs: repostEveryMs,
    // What fired before a restart must not end for it.
    firstAfterMs: 0,
    turn: refreshAll,
  });

  const post = async (notification: Notification, signal: AbortSignal): Promise<SendResult> => {
    const isCut = notification.truncated > 0;
    const ids = new Set(notification.incidents.map(({ id }) => id));
    const alerts = await read(isCut ? undefined : ids);
    if (alerts === null) return storeFailure;
    const either = AbortSignal.any([signal, closing.signal]);
    return anyDelivered(instances.map((instance) => instance.post(render(alerts), either)));
  };

  const postTest = async (notification: Notification, signal: AbortSignal): Promise<SendResult> => {
    const alerts = [[testAlert(notification, now())]];
    const results = await Promise.all(instances.map((instance) => instance.post(alerts, signal)));
    const failed = results.findIndex(({ kind }) => kind !== "delivered");
    const failure = asFailure(results[failed]);
    return failure
      ? { ...failure, detail: `Alertmanager ${failed + 1}: ${failure.detail}` }
      : { kind: "delivered" };
  };

  return {
    name,
    send: (notification, signal) =>
      notification.type === "test" ? postTest(notification, signal) : post(notification, signal),
    start: () => repeater.start(),
    async close() {
      closing.abort();
      await repeater.stop();
      await Promise.all(refreshing.values());
      await outbound.close();
    },
  };
}

/** Resolves as soon as one is: an instance that hangs delays nobody, and hears it in a minute. */
function anyDelivered(posts: readonly Promise<AttemptResult>[]): Promise<SendResult> {
  const delivered = new Promise<SendResult>((resolve) => {
    for (const post of posts) {
      void post.then((result) => result.kind === "delivered" && resolve(result));
    }
  });
  return Promise.race([delivered, Promise.all(posts).then(mostHopeful)]);
}

/** Where one instance may take it later, the refusals of others are not the end of it. */
function mostHopeful(results: readonly AttemptResult[]): SendResult {
  const failures = results.flatMap((result) => asFailure(result) ?? []);
  if (failures.length < results.length) return { kind: "delivered" };
  return failures.find(({ reason }) => !isFinal(reason)) ?? failures[0] ?? { kind: "delivered" };
}

function asFailure(result: AttemptResult | undefined): AttemptFailure | null {
  if (!result || result.kind === "delivered") return null;
  return result.kind === "failed"
    ? result
    : { kind: "failed", reason: "network", detail: "stopped", retryAfterMs: null };
}
