import { noInterventions } from "../../../src/alerts/silence.ts";
import type { ReceiverJudgeOptions } from "../../../src/alerts/judge-receivers.ts";
import type { OutboxItem } from "../../../src/alerts/notification.ts";
import type { ComposeSettings } from "../../../src/notify/compose.ts";
import { createNotifier, type Notifier } from "../../../src/notify/notifier.ts";
import type { Outbox } from "../../../src/notify/outbox.ts";
import type { DeliveryReceiver } from "../../../src/notify/pipeline.ts";
import type { DeliveryObserver, Log } from "../../../src/notify/receiver.ts";
import { createWebhookReceiver } from "../../../src/notify/receivers/webhook.ts";
import { seededRandom } from "../../../src/lib/random.ts";
import type { Random } from "../../../src/lib/random.ts";
import { insertOutboxItems } from "../../../src/store/outbox.ts";
import { createFakeClock, type FakeClock } from "../../support/fake-clock.ts";
import { openOutbound } from "./outbound.ts";
import type { ReceiverServer } from "./receiver-server.ts";
import { openTestStore } from "./test-store.ts";
import type { TestStore } from "./test-store.ts";

/** A webhook with the usual body, unsigned. */
export const plainWebhook = { secret: null, format: "sandwatch", bodyTemplate: null } as const;

/** Every incident a notification of its own, at once, unless the test says otherwise. */
export const oneByOne: ComposeSettings = {
  groupBy: ["rule", "region", "key", "sandbox_id"],
  groupWaitMs: 0,
  groupIntervalMs: 0,
  mergeAbove: 1_000_000,
  maxIncidents: 50,
  giveUpAfterMs: 24 * 60 * 60 * 1_000,
};

export interface Delivery {
  readonly notifier: Notifier;
  readonly clock: FakeClock;
  readonly store: TestStore;
  readonly insert: (...items: readonly OutboxItem[]) => Promise<void>;
  /** What was counted and logged, in order: "delivered oncall 0s", "notification.dead oncall". */
  readonly observed: readonly string[];
  readonly logged: readonly string[];
  /** Resolves when this was logged, counted from now on. */
  readonly nextLog: (line: string) => Promise<void>;
}

export interface DeliveryOptions {
  readonly settings?: Partial<ComposeSettings>;
  /** A store that a test opened before. */
  readonly store?: TestStore;
  readonly clock?: FakeClock;
  readonly random?: Random;
  /** Replaces some calls of the store. */
  readonly outbox?: (outbox: TestStore["outbox"]) => Partial<Outbox>;
}

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
): Delivery {
  const { store = openTestStore(), clock = createFakeClock(), random = seededRandom(7) } = options;
  const receivers =
    typeof to === "function"
      ? to(clock)
      : Object.entries(isServer(to) ? { oncall: to } : to).map(([name, server]) => ({
          ...oneByOne,
          ...options.settings,
          receiver: createWebhookReceiver(
            { ...plainWebhook, name, url: server.url },
            { clock, outbound: openOutbound(clock) },
          ),
        }));
  const observed: string[] = [];
  const logged: string[] = [];
  const waiting: { line: string; resolve: () => void }[] = [];
  const observe: DeliveryObserver = {
    attemptFailed: (receiver, reason) => void observed.push(`failed ${receiver} ${reason}`),
    delivered: (receiver, seconds) => void observed.push(`delivered ${receiver} ${seconds}s`),
    dead: (receiver, reason) => void observed.push(`dead ${receiver} ${reason}`),
  };
  const write: Log["info"] = (fields, message) => {
    const line = `${fields["event"]} ${fields["receiver"]}`;
    logged.push(line);
    if (`${JSON.stringify(fields)}${message}`.includes("T0PSECRET")) throw new Error("a secret!");
    waiting.filter((waiter) => waiter.line === line).forEach(({ resolve }) => resolve());
  };
  const notifier = createNotifier({
    outbox: { ...store.outbox, ...options.outbox?.(store.outbox) },
    receivers,
    judge: judging(...receivers.map(({ receiver }) => receiver.name)),
    clock,
    random,
    log: { info: write, warn: write, error: write },
    observe,
  });
  return {
    notifier,
    clock,
    store,
    insert: (...items) => insertOutboxItems(store.kysely, items),
    observed,
    logged,
    nextLog: (line) => new Promise((resolve) => waiting.push({ line, resolve })),
  };
}

function isServer(
  to: ReceiverServer | Readonly<Record<string, ReceiverServer>>,
): to is ReceiverServer {
  return typeof to["origin"] === "string";
}

/** All receivers are notified of incidents of the others. */
function judging(...receivers: readonly string[]): ReceiverJudgeOptions {
  let incidents = 0;
  return {
    receivers,
    notifies: () => true,
    interventions: noInterventions,
    newIncidentId: () => `receiver-incident-${(incidents += 1)}`,
  };
}
