import type { Needs } from "../api/context.ts";
import { withdraw, type AcknowledgeContext } from "../api/operations/acknowledgements.ts";
import type { ConfigOf, ReceiverConfig } from "../config/schema-receivers.ts";
import { counted } from "../fleet/text.ts";
import { batches } from "../lib/iterables.ts";
import type { Secret } from "../lib/secret.ts";
import { keyOfAlert } from "../notify/receivers/pagerduty.ts";
import {
  isSignedByPagerduty,
  readPagerdutyWebhook,
} from "../notify/receivers/pagerduty-webhook.ts";
import type { PagerdutyEvent } from "../notify/receivers/pagerduty-webhook.ts";
import { StoreError } from "../store/store-error.ts";
import type { IncidentNote, NotifiedAlert } from "../store/receiver-state.ts";
import { BusyError } from "../lib/refused-error.ts";
import type { ReceivedWebhook, WebhookOutcome } from "../web/api/webhooks-route.ts";
import { acknowledgeAll, createActs, notesOn, nothing, refused } from "./receiver-acts.ts";
import { clockToleranceMs, incidentsAtOnce, longestDelayMs } from "./receiver-acts.ts";
import type { Done, ReceiverAct } from "./receiver-acts.ts";

const storeRetryMs = 10_000;

interface Acting {
  readonly name: string;
  readonly webhookSecret: Secret;
  readonly users: ReadonlyMap<string, string>;
}

/** The incidents of an alert that an event can be about. */
interface Meant {
  readonly firing: readonly NotifiedAlert[];
  /** If none fires: those that were resolved last. */
  readonly over: readonly NotifiedAlert[];
}

/** Handles what people do in PagerDuty to the alerts of receivers with `webhook_secret`, one event after the other. */
export function createPagerdutyEvents(
  receivers: readonly ReceiverConfig[],
  context: AcknowledgeContext & Needs<"log">,
): (webhook: ReceivedWebhook) => Promise<WebhookOutcome> {
  const acting = new Map(receivers.flatMap((each) => actingOf(each) ?? []));
  const acts = createActs(context, { name: "PagerDuty", event: "webhook.received" });
  return async ({ receiver, signature, body }) => {
    const settings = acting.get(receiver);
    if (!settings || !isSignedByPagerduty(body, signature, settings.webhookSecret)) {
      return { kind: "unsigned" };
    }
    const event = readPagerdutyWebhook(body);
    if (!event) return { kind: "unreadable" };
    if (event.type === "pagey.ping") {
      return {
        kind: "handled",
        by: null,
        done: "The webhook arrives, and its signature is right.",
      };
    }
    const act = actOf(receiver, event);
    try {
      const { text, by } = await acts(act, () => handle(context, settings, event, act));
      return { kind: "handled", by, done: text };
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      throw new BusyError(error.message, storeRetryMs, "unavailable");
    }
  };
}

function actingOf(settings: ReceiverConfig): readonly [string, Acting][] | null {
  if (settings.type !== "pagerduty") return null;
  const { name, webhookSecret, users } = settings satisfies ConfigOf<"pagerduty">;
  return webhookSecret && users ? [[name, { name, webhookSecret, users }]] : null;
}

function actOf(
  receiver: string,
  { id: eventId, incidentId: remoteId, type, occurredAtMs, user }: PagerdutyEvent,
): ReceiverAct {
  return { receiver, eventId, remoteId, type, occurredAtMs, userId: user?.id ?? null };
}

const whatWasDone: ReadonlyMap<string, string> = new Map([
  ["incident.acknowledged", "acknowledged it"],
  ["incident.unacknowledged", "withdrew its acknowledgement"],
  ["incident.resolved", "resolved it"],
  ["incident.annotated", "wrote a note"],
]);

async function handle(
  context: AcknowledgeContext,
  settings: Acting,
  event: PagerdutyEvent,
  act: ReceiverAct,
): Promise<Done> {
  const { receiverEvents } = context.store;
  const alert = event.alert ?? (await receiverEvents.alertOf(act.receiver, act.remoteId));
  return { ...(await handleOfAlert(context, settings, { ...event, alert }, act)), alert };
}

async function handleOfAlert(
  context: AcknowledgeContext,
  settings: Acting,
  event: PagerdutyEvent,
  act: ReceiverAct,
): Promise<Done> {
  const { type, user, alert } = event;
  const what = whatWasDone.get(type);
  if (what === undefined) return nothing("Events of this type change nothing.");
  if (alert === null) {
    return nothing(
      "PagerDuty has not stated yet which alert this incident belongs to: subscribe to incident.triggered, too. Nothing was changed.",
    );
  }
  const meant = await incidentsOf(context, settings, event);
  if (meant.firing.length + meant.over.length === 0) {
    return nothing("No incident of this receiver has this alert: nothing was changed.");
  }
  if (user === null) return handleAutomatic(context, event, meant);
  const name = settings.users.get(user.id);
  if (name === undefined) return refused(act, "PagerDuty", user, what, idsOf(meant));
  return handleOf(context, event, meant, { author: `${name} (PagerDuty)`, what });
}

/** PagerDuty itself withdraws acknowledgements that have lasted for some time, and its integrations echo what sandwatch sent. */
async function handleAutomatic(
  context: AcknowledgeContext,
  { type }: PagerdutyEvent,
  { firing }: Meant,
): Promise<Done> {
  const ofPagerduty = firing.filter(({ acknowledgement }) =>
    acknowledgement?.author.endsWith(" (PagerDuty)"),
  );
  if (type !== "incident.unacknowledged" || ofPagerduty.length === 0) {
    return nothing("No user did this: nothing was changed.");
  }
  const incidentIds = ofPagerduty.map(({ incident }) => incident.id);
  const withdrawn = await withdrawAll(context, incidentIds, "PagerDuty");
  return {
    ...nothing(`PagerDuty withdrew ${counted(withdrawn, "acknowledgement")} that came from there.`),
    incidentIds,
  };
}

/** Returns of how many there was an acknowledgement. */
async function withdrawAll(
  context: AcknowledgeContext,
  incidentIds: readonly string[],
  author: string,
): Promise<number> {
  let withdrawn = 0;
  for (const ids of batches(incidentIds, incidentsAtOnce)) {
    withdrawn += (await withdraw(context, { ids }, author)).length;
  }
  return withdrawn;
}

async function handleOf(
  context: AcknowledgeContext,
  event: PagerdutyEvent,
  meant: Meant,
  { author, what }: { readonly author: string; readonly what: string },
): Promise<Done> {
  const { type, content, occurredAtMs: atMs } = event;
  const incidentIds = idsOf(meant);
  const say = (text: string, notes: readonly IncidentNote[] = []): Done => ({
    text,
    incidentIds,
    notes,
    by: author,
  });
  if (type === "incident.annotated") {
    const note = content ?? "";
    return say(`${author} wrote a note.`, notesOn(incidentIds, { atMs, author, note }));
  }
  if (meant.firing.length === 0) {
    const note = `${what} in PagerDuty, after it had resolved`;
    return say(
      `${author} ${what}, but no incident of this alert fires any more: nothing was changed.`,
      notesOn(incidentIds, { atMs, author, note }),
    );
  }
  if (type === "incident.unacknowledged") {
    const withdrawn = await withdrawAll(context, incidentIds, author);
    return say(`${author} withdrew ${counted(withdrawn, "acknowledgement")}.`);
  }
  // Sandwatch claims a recovery only of what it has observed. Who resolved it has taken care of it.
  const isResolved = type === "incident.resolved";
  const note = isResolved ? "resolved in PagerDuty" : null;
  const still = isResolved ? " until sandwatch observes their end" : "";
  const { text, already } = await acknowledgeAll(context, incidentIds, { author, note }, still);
  const others = isResolved ? incidentIds.filter((id) => already.has(id)) : [];
  return say(text, notesOn(others, { atMs, author, note: "resolved it in PagerDuty" }));
}

/** What began after the event cannot be meant by it: PagerDuty may deliver it late. */
async function incidentsOf(
  { store }: Needs<"store">,
  { name }: Acting,
  { alert, occurredAtMs }: PagerdutyEvent,
): Promise<Meant> {
  const known = await store.notified.notifiedTo(name, occurredAtMs - longestDelayMs, "all");
  const meant = known.filter(
    (each) =>
      each.incident.startedAtMs <= occurredAtMs + clockToleranceMs && keyOfAlert(each) === alert,
  );
  const firing = meant.filter(({ incident }) => incident.phase.name === "firing");
  if (firing.length > 0) return { firing, over: [] };
  const endOf = ({ incident }: NotifiedAlert): number => incident.resolvedAtMs ?? 0;
  const lastMs = Math.max(...meant.map(endOf));
  return { firing, over: meant.filter((each) => endOf(each) === lastMs) };
}

function idsOf({ firing, over }: Meant): readonly string[] {
  return [...firing, ...over].map(({ incident }) => incident.id);
}
