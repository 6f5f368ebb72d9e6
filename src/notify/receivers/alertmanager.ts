import { incidentUrl, messageUrl } from "../../alerts/links.ts";
import type { Notification } from "../../alerts/notification.ts";
import type { ConfigOf } from "../../config/schema-receivers.ts";
import { batches } from "../../lib/iterables.ts";
import type { Secret } from "../../lib/secret.ts";
import type { NotifiedAlerts } from "../../store/receiver-state.ts";
import type { SenderDeps } from "../outbound.ts";
import { failed } from "../receiver.ts";
import type { AttemptFailure, DeliveryObserver, Log, Receiver, SendResult } from "../receiver.ts";
import { createRepeater } from "../repeater.ts";
import { isFinal } from "../retry.ts";
import { currentAlerts, renderAlert, renderTestAlerts } from "./alertmanager-alerts.ts";
import type { LastRuns } from "../../lib/clock.ts";
import { repostEveryMs, repostName } from "./alertmanager-alerts.ts";
import type { PostableAlert } from "./alertmanager-alerts.ts";
import type { CurrentAlert } from "./notified-alerts.ts";

export interface AlertmanagerDeps extends SenderDeps {
  readonly log: Log;
  readonly observe: Pick<DeliveryObserver, "attemptFailed">;
  readonly notifiedAlerts: NotifiedAlerts;
  /** When the rounds in which all alerts are posted again last read them; what follows has time limits of its own. */
  readonly runs?: LastRuns;
}

export type AlertmanagerSettings = Pick<
  ConfigOf<"alertmanager">,
  "name" | "urls" | "headers" | "generatorUrl"
>;

const alertsPerRequest = 500;

/**
 * Posts alerts to the API v2 of Alertmanager. That API wants states, not changes: what is posted is what the store
 * contains at the time, so that nothing late or repeated undoes what came after it. A notification only makes its alerts
 * be posted at once, and is delivered when one instance accepted them; all alerts are posted to every instance again each
 * minute.
 */
export function createAlertmanagerReceiver(
  settings: AlertmanagerSettings,
  deps: AlertmanagerDeps,
): Receiver {
  const { name, urls, generatorUrl } = settings;
  const { clock, log, externalUrl = null } = deps;
  const closing = new AbortController();
  const instances = urls.map((url, index) => createInstance(settings, url, index + 1, deps));
  const reposting = new Map<Instance, Promise<void>>();
  let storeFailing = false;

  const withLink = (alert: PostableAlert, url: string | null): PostableAlert => {
    const generatorURL = generatorUrl ?? url;
    return generatorURL === null ? alert : { ...alert, generatorURL };
  };

  /** Rendered only when posted, so that a slow instance gets no old times. */
  function* render(alerts: readonly CurrentAlert[]): Generator<readonly PostableAlert[]> {
    for (const batch of batches(alerts, alertsPerRequest)) {
      yield batch.map((alert) => {
        const { id } = alert.incident;
        const url = externalUrl === null ? null : incidentUrl(externalUrl, id);
        return withLink(renderAlert(alert, clock.now().utcMs, externalUrl, deps.labelsOf), url);
      });
    }
  }

  /** Null: the store failed. */
  const read = async (
    about: ReadonlySet<string> | "all",
  ): Promise<readonly CurrentAlert[] | null> => {
    try {
      const alerts = await currentAlerts(deps.notifiedAlerts, name, clock.now().utcMs, about);
      storeFailing = false;
      return alerts;
    } catch (error) {
      const fields = { event: "delivery.store_failed", receiver: name, error: String(error) };
      if (!storeFailing) log.error(fields, `${name}: the store failed; alerts are sent later`);
      storeFailing = true;
      return null;
    }
  };

  const repost = async (instance: Instance, alerts: readonly CurrentAlert[]): Promise<void> => {
    const result = await instance(render(alerts), closing.signal);
    if (result.kind === "failed") deps.observe.attemptFailed(name, result.reason);
    reposting.delete(instance);
  };

  const repeater = createRepeater({
    clock,
    everyMs: repostEveryMs,
    // At once: a restart must not resolve what was firing before it.
    firstAfterMs: 0,
    async run() {
      const alerts = await read("all");
      deps.runs?.set(`deliveries ${repostName(name)}`, clock.now());
      if (alerts === null) return;
      for (const instance of instances) {
        // An instance that hangs gets no second round beside the first, and delays no other.
        if (!reposting.has(instance)) reposting.set(instance, repost(instance, alerts));
      }
    },
  });

  return {
    name,
    async send(notification, signal) {
      const either = AbortSignal.any([signal, closing.signal]);
      if (notification.type === "test") {
        const url = externalUrl === null ? null : messageUrl(externalUrl, notification);
        // They end by themselves.
        if (notification.incidents.every(({ state }) => state === "resolved")) {
          return { kind: "delivered" };
        }
        const alerts = renderTestAlerts(notification, clock.now().utcMs);
        const test = [alerts.map((alert) => withLink(alert, url))];
        return allAccepted(instances.map((instance) => instance(test, either)));
      }
      const alerts = await read(incidentsOf(notification));
      if (alerts === null) return failed("network", "the store failed");
      return anyAccepted(instances.map((instance) => instance(render(alerts), either)));
    },
    start: () => repeater.start(),
    async close() {
      closing.abort();
      await repeater.stop();
      await Promise.all(reposting.values());
    },
  };
}

function incidentsOf({ incidents, truncated }: Notification): ReadonlySet<string> | "all" {
  return truncated > 0 ? "all" : new Set(incidents.map(({ id }) => id));
}

async function allAccepted(posts: readonly Promise<SendResult>[]): Promise<SendResult> {
  const results = await Promise.all(posts);
  const index = results.findIndex(({ kind }) => kind !== "delivered");
  const result = results[index] ?? { kind: "delivered" };
  if (result.kind !== "failed") return result;
  return { ...result, detail: `Alertmanager ${index + 1}: ${result.detail}` };
}

/** Resolves as soon as one instance accepted: an instance that hangs delays nothing, and is posted to each minute. */
function anyAccepted(posts: readonly Promise<SendResult>[]): Promise<SendResult> {
  const accepted = new Promise<SendResult>((resolve) => {
    for (const post of posts) {
      void post.then((result) => result.kind === "delivered" && resolve(result));
    }
  });
  return Promise.race([accepted, Promise.all(posts).then(preferRetryable)]);
}

/** A result that allows a retry, if there is one: that instance may accept the message later. */
function preferRetryable(results: readonly SendResult[]): SendResult {
  const mayRetry = (result: SendResult): boolean =>
    result.kind !== "failed" || !isFinal(result.reason);
  return results.find(mayRetry) ?? results[0] ?? { kind: "delivered" };
}

/** Posts batches to one Alertmanager, one after the other, as far as it accepts them. Never rejects. */
type Instance = (
  batches: Iterable<readonly PostableAlert[]>,
  signal: AbortSignal,
) => Promise<SendResult>;

/** Each notification that another instance accepts would leave one more request at an instance that hangs. */
const mostUnanswered = 8;

/** @param number counted from 1, in the order of the configuration: the URL is secret */
function createInstance(
  { name: receiver, headers: secretHeaders }: AlertmanagerSettings,
  secretUrl: Secret,
  number: number,
  { outbound, log }: AlertmanagerDeps,
): Instance {
  const url = URL.parse(`${secretUrl.reveal().replace(/\/+$/, "")}/api/v2/alerts`);
  if (url?.protocol !== "https:" && url?.protocol !== "http:") {
    throw new Error(`Address ${number} of receiver ${receiver} is not an http or https address.`);
  }
  const headers = { "content-type": "application/json" };
  let failing = false;
  let unanswered = 0;

  const note = (failure: AttemptFailure | null): void => {
    if ((failure !== null) === failing) return;
    failing = failure !== null;
    const fields = { receiver, instance: number };
    if (failure === null) {
      const text = `${receiver}: Alertmanager ${number} accepts alerts again`;
      return log.info({ event: "alertmanager.recovered", ...fields }, text);
    }
    const { reason, detail } = failure;
    const text = `${receiver}: Alertmanager ${number} does not accept alerts; they are sent again every minute`;
    log.warn({ event: "alertmanager.failed", ...fields, reason, detail }, text);
  };

  const postAll = async (
    all: Iterable<readonly PostableAlert[]>,
    signal: AbortSignal,
  ): Promise<SendResult> => {
    let last: SendResult | null = null;
    for (const batch of all) {
      const request = { url, body: JSON.stringify(batch), headers, secretHeaders };
      const result = await outbound.send(request, signal);
      if (result.kind === "aborted") return result;
      if (last?.kind !== "failed" || result.kind === "failed") last = result;
      // After a rejected batch the next may be accepted; an instance that is down accepts none.
      if (result.kind === "failed" && result.reason !== "rejected") break;
    }
    if (last) note(last.kind === "failed" ? last : null);
    return last ?? { kind: "delivered" };
  };

  return async (all, signal) => {
    if (unanswered >= mostUnanswered) {
      return failed("timeout", "earlier alerts are still unanswered");
    }
    unanswered += 1;
    return postAll(all, signal).finally(() => (unanswered -= 1));
  };
}
