import type { OutboxItem } from "../../../src/alerts/notification.ts";
import { noSuppressions } from "../../../src/alerts/silence.ts";
import { seededRandom, type Random } from "../../../src/lib/random.ts";
import type { ComposeSettings } from "../../../src/notify/compose.ts";
import { createNotifier, type Notifier } from "../../../src/notify/notifier.ts";
import type { Outbox } from "../../../src/store/outbox.ts";
import type { DeliveryReceiver } from "../../../src/notify/pipeline.ts";
import type { Log } from "../../../src/notify/receiver.ts";
import { createWebhookReceiver } from "../../../src/notify/receivers/webhook.ts";
import { insertOutboxItems } from "../../../src/store/outbox-items.ts";
import { onTestFinished } from "vitest";
import { outboxStoreOn, type OutboxStore } from "../../store/support/outbox-store.ts";
import { createFakeClock, type FakeClock } from "../../support/fake-clock.ts";
import { openOutbound } from "./outbound.ts";
import { wantAll } from "../../support/fleet.ts";
import { openFresh } from "../../support/fresh-store.ts";
import type { ReceiverServer } from "./receiver-server.ts";

/** A webhook with the default body, unsigned. */
export const plainWebhook = {
  secret: null,
  headers: new Map(),
  format: "sandwatch",
  bodyTemplate: null,
} as const;

/** Every incident a notification of its own, at once, unless the test says otherwise. */
export const oneByOne: ComposeSettings = {
  groupBy: ["rule", "region", "key", "sandbox_id"],
  groupWaitMs: 0,
  groupIntervalMs: 0,
  groupLimit: 1_000_000,
  maxIncidents: 50,
  giveUpAfterMs: 24 * 60 * 60 * 1_000,
};

/** A log that keeps its events, and refuses secrets. */
export function keepLog(onLine: (line: string, fields: Parameters<Log["info"]>[0]) => void): Log {
  const write: Log["info"] = (fields, message) => {
    if (`${JSON.stringify(fields)}${message}`.includes("T0PSECRET")) throw new Error("a secret!");
    onLine(String(fields["event"]), fields);
  };
  return { info: write, warn: write, error: write };
}

export interface DeliveryOptions {
  readonly settings?: Partial<ComposeSettings>;
  /** A store that a test opened before. */
  readonly store?: OutboxStore;
  readonly clock?: FakeClock;
  readonly random?: Random;
  readonly mayAct?: () => boolean;
  /** Replaces some calls of the store. */
  readonly outbox?: (outbox: OutboxStore["outbox"]) => Partial<Outbox>;
}

export type Delivery = ReturnType<typeof openDelivery>;

/**
 * Delivery to webhooks by their names, or to other receivers.
 *
 * @param to a single webhook is called `oncall`
 */
export function openDelivery(
  to:
    | ReceiverServer
    | Readonly<Record<string, ReceiverServer>>
    | ((clock: FakeClock) => readonly DeliveryReceiver[]),
  options: DeliveryOptions = {},
) {
  const { store = openStore(), clock = createFakeClock(), random = seededRandom(7) } = options;
  const webhook = ([name, { url }]: [string, ReceiverServer]): DeliveryReceiver => ({
    ...oneByOne,
    ...options.settings,
    receiver: createWebhookReceiver(
      { ...plainWebhook, name, url },
      { clock, outbound: openOutbound(clock) },
    ),
  });
  const receivers =
    typeof to === "function"
      ? to(clock)
      : Object.entries(isServer(to) ? { oncall: to } : to).map(webhook);
  const observed: string[] = [];
  const logged: string[] = [];
  const waiting: { line: string; resolve: () => void }[] = [];
  let incidents = 0;
  const notifier: Notifier = createNotifier(
    {
      outbox: { ...store.outbox, ...options.outbox?.(store.outbox) },
      giveUpAfterMs: new Map(),
      mayAct: options.mayAct ?? (() => true),
      labelsOf: () => ({}),
      runs: new Map(),
      judge: {
        receivers: wantAll(receivers.map(({ receiver }) => receiver.name)),
        newIncidentId: () => `receiver-incident-${(incidents += 1)}`,
      },
      suppressions: { at: () => noSuppressions },
      commits: {
        publish: async ({ incidents: { outbox }, atMs }) =>
          void (outbox.length > 0 && notifier.wake(atMs)),
      },
      clock,
      random,
      log: keepLog((event, { receiver }) => {
        logged.push(`${event} ${receiver}`);
        waiting.filter(({ line }) => line === logged.at(-1)).forEach(({ resolve }) => resolve());
      }),
      observe: {
        attemptFailed: (receiver, reason) => void observed.push(`failed ${receiver} ${reason}`),
        delivered: (receiver, seconds) => void observed.push(`delivered ${receiver} ${seconds}s`),
        dead: (receiver, reason) => void observed.push(`dead ${receiver} ${reason}`),
      },
    },
    receivers,
  );
  return {
    notifier,
    receivers,
    clock,
    store,
    insert: (...items: readonly OutboxItem[]) => insertOutboxItems(store.kysely, items),
    /** What was counted and logged, in order: "delivered oncall 0s", "notification.dead oncall". */
    observed,
    logged,
    /** Resolves when this was logged, counted from now on. */
    nextLog: (line: string) => new Promise<void>((resolve) => void waiting.push({ line, resolve })),
    /** Lets time pass, and then does what is due. */
    pass: async (ms: number): Promise<void> => {
      clock.advance(ms);
      await notifier.runOnce();
    },
  };
}

/** A store in memory, closed when the test ends. */
export function openStore(): OutboxStore {
  const opened = openFresh();
  onTestFinished(opened.close);
  return outboxStoreOn(opened);
}

function isServer(
  to: ReceiverServer | Readonly<Record<string, ReceiverServer>>,
): to is ReceiverServer {
  return typeof to["origin"] === "string";
}
