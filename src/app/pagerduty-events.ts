import type { StoreContext } from "../api/context.ts";
import { acknowledge, withdraw } from "../api/operations/acknowledgements.ts";
import type { ConfigOf, ReceiverConfig } from "../config/schema-receivers.ts";
import { counted } from "../fleet/plural.ts";
import { batches } from "../lib/iterables.ts";
import type { Secret } from "../lib/secret.ts";
import type { NotifiedAlert } from "../notify/receivers/notified-alerts.ts";
import { keyOfAlert } from "../notify/receivers/pagerduty.ts";
import {
  isSignedByPagerduty,
  readPagerdutyWebhook,
} from "../notify/receivers/pagerduty-webhook.ts";
import type { PagerdutyEvent } from "../notify/receivers/pagerduty-webhook.ts";
import { StoreError } from "../store/store-error.ts";
import type { IncidentNote } from "../store/receiver-events.ts";
import { BusyError } from "../lib/refused-error.ts";
import type { ReceivedWebhook, WebhookOutcome } from "../web/api/webhooks-route.ts";

/** PagerDuty repeats a webhook for 20 minutes, and keeps those behind it back meanwhile. */
const longestDelayMs = 24 * 60 * 60_000;

/** By which the clocks of PagerDuty and this machine may differ. */
const clockToleranceMs = 60_000;

const incidentsAtOnce = 500;
const storeRetryMs = 10_000;

interface Acting {
  readonly name: string;
  readonly webhookSecret: Secret;
  readonly users: ReadonlyMap<string, string>;
}

/** What was done because of an event. */
interface Done {
  readonly text: string;
  readonly incidentIds: readonly string[];
  readonly notes: readonly IncidentNote[];
  /** Who did it; null: nobody that the configuration names. */
  readonly by: string | null;
  readonly isRefused?: true;
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
  context: StoreContext,
): (webhook: ReceivedWebhook) => Promise<WebhookOutcome> {
  const acting = new Map(receivers.flatMap((each) => actingOf(each) ?? []));
  let last: Promise<unknown> = Promise.resolve();
  return async ({ receiver, signature, body }) => {
    const settings = acting.get(receiver);
    if (!settings || !isSignedByPagerduty(body, signature, settings.webhookSecret)) {
      return { kind: "unsigned" };
    }
    const event = readPagerdutyWebhook(body);
    if (!event) return { kind: "unreadable" };
    // An event that is repeated while it is handled must find it handled.
    const done = last.then(() => handleOnce(context, settings, event));
    last = done.catch(() => null);
    try {
      const { text, by } = await done;
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

async function handleOnce(
  context: StoreContext,
  settings: Acting,
  event: PagerdutyEvent,
): Promise<Done> {
  const { store, clock, log } = context;
  const { name: receiver } = settings;
  const { id: eventId, type, user, occurredAtMs, incidentId: remoteId } = event;
  const nowMs = clock.now().utcMs;
  if (type === "pagey.ping") return nothing("The webhook arrives, and its signature is right.");
  if (await store.receiverEvents.isHandled(receiver, eventId)) {
    return nothing("This event was handled before: nothing was changed.");
  }
  const delayMs = nowMs - occurredAtMs;
  if (delayMs > longestDelayMs || delayMs < -longestDelayMs) {
    return nothing(
      "This event is more than a day away from the time of this machine: nothing was changed.",
    );
  }
  const alert = event.alert ?? (await store.receiverEvents.alertOf(receiver, remoteId));
  const done = await handle(context, settings, { ...event, alert });
  const { text, incidentIds, notes, isRefused } = done;
  // Only now: if this process ends before, PagerDuty repeats the event, and what was done is not done twice.
  await store.receiverEvents.handled({ receiver, eventId, remoteId, alert }, notes, nowMs);
  log[isRefused ? "warn" : "info"](
    {
      event: "webhook.received",
      receiver,
      type,
      event_id: eventId,
      user: done.by ?? user?.id ?? null,
      incident_ids: incidentIds.slice(0, incidentsAtOnce),
    },
    `PagerDuty: ${type}: ${text}`,
  );
  return done;
}

function nothing(text: string, by: string | null = null): Done {
  return { text, incidentIds: [], notes: [], by };
}

const acts: ReadonlyMap<string, string> = new Map([
  ["incident.acknowledged", "acknowledged it"],
  ["incident.unacknowledged", "withdrew its acknowledgement"],
  ["incident.resolved", "resolved it"],
  ["incident.annotated", "wrote a note"],
]);

async function handle(
  context: StoreContext,
  settings: Acting,
  event: PagerdutyEvent,
): Promise<Done> {
  const { type, user, alert } = event;
  const act = acts.get(type);
  if (act === undefined) return nothing("Events of this type change nothing.");
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
  if (name === undefined) {
    const text = `${user.name} (${user.id}) ${act} in PagerDuty. ${settings.name}.users in the configuration does not name this user: nothing was changed.`;
    const notes = notesOn(meant, { event, author: "PagerDuty", note: text });
    return { text, incidentIds: idsOf(meant), notes, by: null, isRefused: true };
  }
  return handleOf(context, event, meant, { author: `${name} (PagerDuty)`, act });
}

/** PagerDuty itself withdraws acknowledgements that have lasted for some time, and its integrations echo what sandwatch sent. */
async function handleAutomatic(
  context: StoreContext,
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
  context: StoreContext,
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
  context: StoreContext,
  event: PagerdutyEvent,
  meant: Meant,
  { author, act }: { readonly author: string; readonly act: string },
): Promise<Done> {
  const { type, content } = event;
  const incidentIds = idsOf(meant);
  const say = (text: string, notes: readonly IncidentNote[] = []): Done => ({
    text,
    incidentIds,
    notes,
    by: author,
  });
  if (type === "incident.annotated") {
    const note = content ?? "";
    return say(`${author} wrote a note.`, notesOn(meant, { event, author, note }));
  }
  if (meant.firing.length === 0) {
    const note = `${act} in PagerDuty, after it had resolved`;
    return say(
      `${author} ${act}, but no incident of this alert fires any more: nothing was changed.`,
      notesOn(meant, { event, author, note }),
    );
  }
  if (type === "incident.unacknowledged") {
    const withdrawn = await withdrawAll(context, incidentIds, author);
    return say(`${author} withdrew ${counted(withdrawn, "acknowledgement")}.`);
  }
  // Sandwatch claims a recovery only of what it has observed. Who resolved it has taken care of it.
  const isResolved = type === "incident.resolved";
  const note = isResolved ? "resolved in PagerDuty" : null;
  let changed = 0;
  const already = new Set<string>();
  for (const ids of batches(incidentIds, incidentsAtOnce)) {
    const outcome = await acknowledge(context, { ids }, { author, note });
    changed += outcome.acknowledged.length;
    for (const { incidentId } of outcome.already) already.add(incidentId);
  }
  const others = already.size === 0 ? "" : `; acknowledged before: ${already.size}`;
  const still = isResolved ? " until sandwatch observes their end" : "";
  const notes = notesOn(meant, { event, author, note: "resolved it in PagerDuty" });
  return say(
    `${author} acknowledged ${counted(changed, "incident")}${still}${others}.`,
    isResolved ? notes.filter(({ incidentId }) => already.has(incidentId)) : [],
  );
}

/** What began after the event cannot be meant by it: PagerDuty may deliver it late. */
async function incidentsOf(
  { store }: StoreContext,
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

function notesOn(
  meant: Meant,
  {
    event,
    author,
    note,
  }: { readonly event: PagerdutyEvent; readonly author: string; readonly note: string },
): readonly IncidentNote[] {
  const atMs = event.occurredAtMs;
  return idsOf(meant).map((incidentId) => ({ incidentId, atMs, author, note }));
}
