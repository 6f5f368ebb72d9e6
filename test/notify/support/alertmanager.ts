import { setImmediate } from "node:timers/promises";
import { onTestFinished } from "vitest";
import type { Notification } from "../../../src/alerts/notification.ts";
import type { Clock } from "../../../src/lib/clock.ts";
import { Secret } from "../../../src/lib/secret.ts";
import { requestTimeoutMs } from "../../../src/notify/outbound.ts";
import type { NotifiedAlerts } from "../../../src/store/receiver-state.ts";
import { createAlertmanagerReceiver } from "../../../src/notify/receivers/alertmanager.ts";
import type { AlertmanagerSettings } from "../../../src/notify/receivers/alertmanager.ts";
import { createFakeClock } from "../../support/fake-clock.ts";
import { postableAlertsSchema, type PostedAlert } from "../../support/postable-alerts.ts";
import { keepLog } from "./delivery.ts";
import { incidentOf, startMs } from "./items.ts";
import { notificationOf } from "./notifications.ts";
import { openNotifiedStore } from "./notified-store.ts";
import { openOutbound } from "./outbound.ts";
import { startReceiverServer, status } from "./receiver-server.ts";
import type { Answer, ReceiverServer } from "./receiver-server.ts";

export const minuteMs = 60_000;
export const accept = status(200);

export function about(...ids: readonly string[]): Notification {
  return notificationOf({ receiver: "am", incidents: ids.map((id) => incidentOf({ id })) });
}

interface Options extends Partial<AlertmanagerSettings> {
  readonly externalUrl?: string;
  /** What the items say besides their incidents. */
  readonly text?: Parameters<typeof openNotifiedStore>[0];
  /** The receiver's view of the store. */
  readonly notifiedAlerts?: (stored: NotifiedAlerts) => NotifiedAlerts;
}

/** A receiver with an instance for each answer. */
export async function openAlertmanager(
  answers: readonly Answer[] = [accept],
  { notifiedAlerts = (stored) => stored, externalUrl, text, ...settings }: Options = {},
) {
  const notified = await openNotifiedStore(text);
  const servers = await Promise.all(answers.map(startReceiverServer));
  const clock = createFakeClock();
  let requests = 0;
  // Each request has a time-out of its own, which it cancels when it has ended.
  const watched: Clock = {
    now: () => clock.now(),
    setTimer(delayMs, callback) {
      const cancel = clock.setTimer(delayMs, callback);
      return () => {
        cancel();
        if (delayMs === requestTimeoutMs) requests += 1;
      };
    },
  };
  const observed: string[] = [];
  const logged: string[] = [];
  const receiver = createAlertmanagerReceiver(
    {
      name: "am",
      urls: servers.map(({ origin }) => new Secret(`${origin}/T0PSECRET//`)),
      headers: new Map(),
      generatorUrl: null,
      ...settings,
    },
    {
      clock: watched,
      ...(externalUrl !== undefined && { externalUrl }),
      outbound: openOutbound(watched),
      notifiedAlerts: notifiedAlerts(notified.store.notified),
      log: keepLog((event, { instance }) => logged.push([event, instance].join(" ").trimEnd())),
      observe: { attemptFailed: (name, reason) => void observed.push(`${name} ${reason}`) },
    },
  );
  onTestFinished(() => receiver.close?.());
  const [server] = servers;
  if (!server) throw new Error("no instance");
  return {
    ...notified,
    receiver,
    clock,
    servers,
    /** The first of them. */
    server,
    observed,
    logged,
    send: (notification: Notification) => receiver.send(notification, new AbortController().signal),
    /** Lets time pass until this many requests have ended in all, and what follows from that was done. */
    ended: async (count: number, ms = 0): Promise<void> => {
      const isEnough = (): boolean => requests >= count;
      clock.advance(ms);
      do await setImmediate();
      while (!isEnough());
    },
  };
}

export function posted({ requests }: ReceiverServer): readonly (readonly PostedAlert[])[] {
  return requests.map(({ body }) => postableAlertsSchema.parse(JSON.parse(body)));
}

/** Each alert's server, and after how many minutes it ends. */
export function ofServers(
  alerts: readonly PostedAlert[] | undefined,
): readonly (readonly [server: string, minutes: number])[] {
  return (alerts ?? []).map(({ labels, endsAt }) => [
    labels["server_id"] ?? "",
    (Date.parse(endsAt) - startMs) / minuteMs,
  ]);
}
