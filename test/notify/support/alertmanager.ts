import { setImmediate } from "node:timers/promises";
import { onTestFinished } from "vitest";
import type { Notification } from "../../../src/alerts/notification.ts";
import { requestTimeoutMs } from "../../../src/notify/outbound.ts";
import { createAlertmanagerReceiver } from "../../../src/notify/receivers/alertmanager.ts";
import type { AlertmanagerSettings } from "../../../src/notify/receivers/alertmanager.ts";
import type { NotifiedAlerts } from "../../../src/notify/receivers/alertmanager-alerts.ts";
import type { Receiver } from "../../../src/notify/receiver.ts";
import type { Clock } from "../../../src/lib/clock.ts";
import { Secret } from "../../../src/lib/secret.ts";
import { createFakeClock, type FakeClock } from "../../support/fake-clock.ts";
import { postableAlertsSchema, type PostedAlert } from "../../support/postable-alerts.ts";
import { startMs, toldIncident } from "./items.ts";
import { notificationOf } from "./notifications.ts";
import { openOutbound } from "./outbound.ts";
import { startReceiverServer, status } from "./receiver-server.ts";
import type { Answer, ReceiverServer } from "./receiver-server.ts";
import { openToldStore } from "./told-store.ts";
import type { ToldStore } from "./told-store.ts";

export const minuteMs = 60_000;
export const accept = status(200);

export function about(...ids: readonly string[]): Notification {
  return notificationOf({ receiver: "am", incidents: ids.map((id) => toldIncident({ id })) });
}

export interface Opened extends ToldStore {
  readonly receiver: Receiver;
  readonly clock: FakeClock;
  readonly servers: readonly ReceiverServer[];
  /** The first of them. */
  readonly server: ReceiverServer;
  readonly observed: readonly string[];
  readonly logged: readonly string[];
  /** Resolves when this many requests have ended in all, and what follows from that was done. */
  readonly ended: (count: number) => Promise<void>;
}

interface Options extends Partial<AlertmanagerSettings> {
  /** The receiver's view of the store. */
  readonly notifiedAlerts?: (stored: NotifiedAlerts) => NotifiedAlerts;
  /** Called when a round has read its alerts and is about to post them again. */
  readonly onReposted?: () => void;
}

/** A receiver with an instance for each answer. */
export async function openAlertmanager(
  answers: readonly Answer[] = [accept],
  { notifiedAlerts = (stored) => stored, onReposted = () => {}, ...settings }: Options = {},
): Promise<Opened> {
  const told = await openToldStore();
  const servers: ReceiverServer[] = [];
  for (const answer of answers) servers.push(await startReceiverServer(answer));
  const clock = createFakeClock();
  const { watched, ended } = watchRequests(clock);
  const observed: string[] = [];
  const logged: string[] = [];
  const write = (fields: Readonly<Record<string, string | number>>, message: string): void => {
    if (`${JSON.stringify(fields)}${message}`.includes("T0PSECRET")) throw new Error("a secret!");
    logged.push(`${fields["event"]} ${fields["instance"] ?? ""}`.trimEnd());
  };
  const receiver = createAlertmanagerReceiver(
    {
      name: "am",
      urls: servers.map(({ origin }) => new Secret(`${origin}/T0PSECRET//`)),
      bearerToken: null,
      generatorUrl: null,
      ...settings,
    },
    {
      clock: watched,
      outbound: openOutbound(watched),
      notifiedAlerts: notifiedAlerts(told.store.notified),
      onReposted,
      log: { info: write, warn: write, error: write },
      observe: { attemptFailed: (name, reason) => void observed.push(`${name} ${reason}`) },
    },
  );
  onTestFinished(() => receiver.close?.());
  const [server] = servers;
  if (!server) throw new Error("no instance");
  return { ...told, receiver, clock, servers, server, observed, logged, ended };
}

/** Each request has a time-out of its own, which it cancels when it has ended. */
function watchRequests(clock: FakeClock): { watched: Clock; ended: Opened["ended"] } {
  let requests = 0;
  const news = new EventTarget();
  const watched: Clock = {
    now: () => clock.now(),
    setTimer(delayMs, callback) {
      const cancel = clock.setTimer(delayMs, callback);
      return () => {
        cancel();
        if (delayMs !== requestTimeoutMs) return;
        requests += 1;
        news.dispatchEvent(new Event("news"));
      };
    },
  };
  return {
    watched,
    async ended(count) {
      const isEnough = (): boolean => requests >= count;
      while (!isEnough()) {
        await new Promise((resolve) => news.addEventListener("news", resolve, { once: true }));
      }
      await setImmediate();
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
