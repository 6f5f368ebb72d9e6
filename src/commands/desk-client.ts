import { conformanceView } from "../conformance/views.ts";
import type { Desk } from "../interventions/desk.ts";
import { driftView } from "../interventions/drift-desk.ts";
import { changesView, incidentsView } from "../interventions/history-views.ts";
import { serversView, targetsView } from "../interventions/fleet-views.ts";
import { probesView } from "../interventions/probe-desk.ts";
import * as views from "../interventions/views.ts";
import { insightsView } from "../reports/insights/view.ts";
import { occupancyView } from "../reports/view.ts";
import { createApiCall } from "./api-call.ts";

/** A report of years is made of much. */
const reportPatienceMs = 5 * 60_000;
/** Each of its calls may wait for the key's limit, and then for the service. */
const longestCheckMs = 10 * 60_000;

/**
 * The desk of a daemon that runs, over its API.
 *
 * @param address such as `http://127.0.0.1:9740`
 * @param signal ends calls that are under way
 */
export function createDeskClient(address: string, signal?: AbortSignal): Desk {
  const call = createApiCall(address, signal);
  const id = encodeURIComponent;

  return {
    silences: (query) => call(views.silencesView, "silences", { query }),
    addSilence: (body) => call(views.addedSilenceView, "silences", { body }),
    expireSilence: (silence) =>
      call(views.silenceView, `silences/${id(silence)}/expire`, { body: {} }),
    incidents: (query) => call(incidentsView, "incidents", { query }),
    acknowledge: (incident, body) =>
      call(views.acknowledgementView, `incidents/${id(incident)}/acknowledge`, { body }),
    notifications: (query) => call(views.notificationsView, "notifications", { query }),
    notification: (seq) => call(views.notificationDetailView, `notifications/${id(seq)}`, {}),
    replay: (body) => call(views.countView, "notifications/replay", { body }),
    discard: (body) => call(views.countView, "notifications/discard", { body }),
    changes: (query) => call(changesView, "changes", { query }),
    conformance: (body) =>
      call(conformanceView, "conformance", { body, patienceMs: longestCheckMs }),
    drift: (query) => call(driftView, "drift", { query }),
    explain: (query) => call(views.explanationView, "explain", { query }),
    targets: (query) => call(targetsView, "targets", { query }),
    servers: (query) => call(serversView, "servers", { query }),
    probes: (query) => call(probesView, "probes", { query }),
    insights: (query) => call(insightsView, "insights", { query, patienceMs: reportPatienceMs }),
    occupancy: (query) => call(occupancyView, "occupancy", { query, patienceMs: reportPatienceMs }),
  };
}
