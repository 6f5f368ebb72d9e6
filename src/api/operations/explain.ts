import { z } from "zod";
import { firstOf } from "../../lib/first-of.ts";
import { allTime } from "../../store/changes.ts";
import type { StoreContext } from "../context.ts";
import { listed, nullableText, serverText, targetLabels, time } from "../fields.ts";
import { findServer } from "../find.ts";
import { defineOperation } from "../operation.ts";
import { timeline } from "../timeline.ts";
import { timeText, toView } from "../view.ts";

const explanationView = z.object({
  server_id: z.string(),
  server_name: nullableText,
  listed: listed(
    z.object({ ...targetLabels, sandbox_id: z.string(), status: z.string(), since: time }),
  ).describe("Where it is listed now; empty: nowhere"),
  events: listed(
    z.object({
      at: time,
      event: z.string(),
      text: z.string(),
      incident_id: nullableText,
      notification_id: nullableText,
    }),
  ).describe("Oldest first"),
  truncated: z.boolean().describe("Whether older events were omitted"),
});
export type ExplanationView = z.output<typeof explanationView>;

const mostChanges = 1_000;
const mostIncidents = 200;
const mostSilences = 10_000;

export const explainServer = defineOperation({
  name: "explainServer",
  method: "GET",
  path: "/explain",
  summary: "Everything that happened to a server, oldest first",
  request: z.strictObject({ server: serverText }),
  response: explanationView,
  refusals: [404, 409],
  async handle({ store, targets, interventions, rules, clock }: StoreContext, request) {
    const server = await findServer(request.server, targets, store);
    const { serverId, serverName } = server;
    const nowMs = clock.now().utcMs;
    const about = store.changes.between({ ...allTime, direction: "desc", server: serverId });
    const found = await firstOf(about, mostChanges);
    const incidents = await store.incidents.ofServer(serverId, mostIncidents);
    const items = await store.notifications.about(incidents.map(({ incident }) => incident.id));
    const seqs = items.flatMap(({ notification }) => notification?.seq ?? []);
    const silences = { ended: true, nowMs, limit: mostSilences, before: null };
    const history = {
      server,
      changes: found.filter((change) => change.serverId === serverId),
      incidents,
      silences: await store.silences.page(silences),
      windows: interventions.windows,
      items,
      attempts: await store.notifications.attempts([...new Set(seqs)]),
    };
    return {
      server_id: serverId,
      server_name: serverName,
      listed: server.listed.map(({ target, sandbox, server: { status, since } }) => {
        return { ...target, sandbox_id: sandbox.id, status, since: timeText(since.atMs) };
      }),
      events: timeline(history, rules, nowMs).map(
        ({ incidentId = null, notificationId = null, ...event }) =>
          toView({ ...event, incidentId, notificationId }),
      ),
      truncated: found.length >= mostChanges || incidents.length >= mostIncidents,
    };
  },
});
