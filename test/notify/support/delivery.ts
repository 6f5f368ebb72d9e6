import { noInterventions } from "../../../src/core/interventions.ts";
import type { ReceiverJudgeOptions } from "../../../src/core/judge-receivers.ts";
import type { ComposeSettings } from "../../../src/notify/compose.ts";
import { createNotifier, type Notifier } from "../../../src/notify/notifier.ts";
import type { DeliveryReceiver } from "../../../src/notify/pipeline.ts";
import type { DeliveryObserver, Log } from "../../../src/notify/receiver.ts";
import type { Outbox } from "../../../src/notify/outbox.ts";
import { createWebhookReceiver } from "../../../src/notify/receivers/webhook.ts";
import { seededRandom } from "../../../src/platform/random.ts";
import type { Random } from "../../../src/platform/random.ts";
import { createFakeClock, type FakeClock } from "../../support/fake-clock.ts";
import { openOutbound } from "./outbound.ts";
import type { ReceiverServer } from "./receiver-server.ts";

/** A webhook with the usual body, unsigned. */
export const plainWebhook = {
  secret: null,
  format: "sandwatch",
  bodyTemplate: null,
} as const;

/** Every incident a message of its own, at once, unless the test says otherwise. */
export const oneByOne: ComposeSettings = {
  groupBy: ["rule", "region", "key", "sandbox_id"],
  groupWaitMs: 0,
  groupIntervalMs: 0,
  mergeAbove: 1_000_000,
  maxIncidents: 50,
  giveUpAfterMs: 24 * 60 * 60 * 1_000,
};

/** Tells all receivers but the failing one. */
export function judging(...receivers: readonly string[]): ReceiverJudgeOptions {
  let incidents = 0;
  return {
    receivers,
    tells: () => true,
    interventions: noInterventions,
    newIncidentId: () => `receiver-incident-${(incidents += 1)}`,
  };
}

export interface Delivery {
  readonly loop: Notifier;
  readonly clock: FakeClock;
  /** What was observed and logged, in order: "delivered oncall", "notification.dead oncall". */
  readonly observed: readonly string[];
  readonly logged: readonly string[];
  /** Resolves when this was logged, counted from now on. */
  readonly nextLog: (line: string) => Promise<void>;
}

export function webhook(
  server: ReceiverServer,
  clock: FakeClock,
  more: Partial<ComposeSettings & { readonly name: string }> = {},
): DeliveryReceiver {
  const { name = "oncall", ...grouping } = more;
  const receiver = createWebhookReceiver(
    { ...plainWebhook, name, url: server.url },
    { clock, outbound: openOutbound(clock) },
  );
  return { ...oneByOne, ...grouping, receiver };
}

export function createDelivery(
  outbox: Outbox,
  receivers: (clock: FakeClock) => readonly DeliveryReceiver[],
  clock: FakeClock = createFakeClock(),
  random: Random = seededRandom(7),
): Delivery {
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
  const log = { info: write, warn: write, error: write };
  const made = receivers(clock);
  const loop = createNotifier({
    outbox,
    receivers: made,
    judge: judging(...made.map(({ receiver }) => receiver.name)),
    clock,
    random,
    log,
    observe,
  });
  return {
    loop,
    clock,
    observed,
    logged,
    nextLog: (line) => new Promise((resolve) => waiting.push({ line, resolve })),
  };
}
