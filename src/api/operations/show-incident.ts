import { z } from "zod";
import { currentItem, type Incident } from "../../alerts/incident.ts";
import { regionText } from "../../alerts/judge-region.ts";
import { clearedCondition } from "../../alerts/present-subject.ts";
import type { ItemText } from "../../alerts/notification.ts";
import { headlineOf, summarize } from "../../alerts/notification-summary.ts";
import type { Rule } from "../../alerts/rule.ts";
import { isInForce, silences, type SilenceMatch } from "../../alerts/silence.ts";
import { conditionOfStatus } from "../../alerts/subjects.ts";
import { fillUrlTemplate } from "../../alerts/template.ts";
import { targetName } from "../../fleet/model.ts";
import { notificationStates } from "../../store/notifications.ts";
import type { Needs } from "../context.ts";
import { idBeginning, listed, nullableText, nullableTime } from "../fields.ts";
import { defineQuery } from "../operation.ts";
import {
  eventView,
  factsOfIncident,
  silencesThat,
  timeline,
  viewEvent,
  type EventsContext,
} from "../subject-events.ts";
import { timeText } from "../view-fields.ts";
import { findIncident, incidentView, incidentViewer } from "./incidents.ts";
import { matchOf, silenceView, viewSilence } from "./silences.ts";

const mostEvents = 1_000;

export const showIncident = defineQuery({
  name: "showIncident",
  path: "/incidents/{id}",
  summary: "An incident, and everything that happened to it",
  request: z.strictObject({ id: idBeginning }),
  response: incidentView.extend({
    summary: z.string(),
    headline: z.string().describe("The summary without times"),
    runbook_url: nullableText,
    notified: listed(
      z.object({
        receiver: z.string(),
        state: z.enum(notificationStates),
        settled_at: nullableTime,
      }),
    ).describe("The messages that it fires, and when they were delivered, as far as it is stored"),
    silence: silenceView.shape.match.describe("What a silence of this incident matches"),
    silenced_until: nullableTime.describe(
      "When the silences and maintenance windows end that are in force for it; null: there are none",
    ),
    silences: listed(silenceView).describe("The silences in force for it, without windows"),
    events: listed(eventView).describe(`The latest ${mostEvents}, oldest first`),
  }),
  refusals: [404, 409],
  async handle(context: EventsContext & Needs<"targets" | "rules">, { id }) {
    const { store, suppressions, rules, clock } = context;
    const stored = await findIncident(context, id);
    const { incident, target } = stored;
    const nowMs = clock.now().utcMs;
    const rule = rules.find(({ name }) => name === incident.rule);
    const view = incidentViewer(context)(stored);
    const now = view.present_status === null ? null : { status: view.present_status };
    const text = {
      ...rule,
      ...(await presentText(context, incident, rule)),
      ...(now && { condition: clearedCondition(incident, now) }),
    };
    const { acknowledged_by: acknowledgedBy } = view;
    const item = currentItem(target, incident, acknowledgedBy, text);
    const { runbookUrlTemplate } = item;
    const facts = factsOfIncident(stored);
    const concerns = (each: { readonly match: SilenceMatch }) => silences(each.match, facts);
    const endsAtMs = incident.resolvedAtMs ?? nowMs;
    const found = (await silencesThat(concerns, store)).filter(
      (each) => each.startsAtMs <= endsAtMs && each.endsAtMs > incident.startedAtMs,
    );
    const inForce = suppressions.inForce(nowMs).filter(concerns);
    const items = await store.outbox.about([incident.id]);
    const fired = items.filter(({ type }) => type === "incident.firing");
    const seqs = items.flatMap(({ notification }) => notification?.seq ?? []);
    const history = {
      changes: [],
      incidents: [stored],
      notes: await store.receiverEvents.notesOf([incident.id]),
      silences: found,
      windows: suppressions.windows.filter(concerns),
      items,
      attempts: await store.notifications.attempts([...new Set(seqs)]),
    };
    return {
      ...view,
      summary: summarize([item], nowMs),
      headline: headlineOf([item]),
      runbook_url: runbookUrlTemplate && fillUrlTemplate(runbookUrlTemplate, [item]),
      notified: fired.map(({ receiver, notification }) => ({
        receiver,
        state: notification?.state ?? "pending",
        settled_at: timeText(notification?.settledAtMs ?? null),
      })),
      silence: matchOf(stored),
      silenced_until:
        inForce.length === 0 ? null : timeText(Math.max(...inForce.map((each) => each.endsAtMs))),
      silences: found
        .filter((each) => isInForce(each, nowMs))
        .map((each) => viewSilence(each, nowMs)),
      events: timeline(history, nowMs).slice(-mostEvents).map(viewEvent),
    };
  },
});

/**
 * What fails of a region may be more by now than receivers were notified of. What has recovered has another status than
 * its incident was about.
 */
async function presentText(
  { store, targets, clock }: Needs<"store" | "targets" | "clock">,
  { phase, subject }: Incident,
  rule: Rule | undefined,
): Promise<Partial<ItemText> | null> {
  if (phase.name === "resolved" && (rule?.on === "server" || rule?.on === "sandbox")) {
    return { condition: conditionOfStatus(rule.status) };
  }
  if (phase.name !== "firing" || subject.kind !== "region" || rule?.on !== "region") return null;
  const configured = new Set(targets.map(({ target }) => targetName(target)));
  const stored = (await store.regions.read(subject.region)).targets;
  const polled = stored.filter(({ target }) => configured.has(targetName(target)));
  return regionText(rule, polled, clock.now().utcMs);
}
