import type { Operation } from "./operation.ts";
import { changeSilence, expireSilence, showSilence } from "./operations/change-silence.ts";
import { listChanges } from "./operations/changes.ts";
import { checkConformance } from "./operations/conformance.ts";
import { listDrift } from "./operations/drift.ts";
import { explainServer } from "./operations/explain.ts";
import { explainSandbox } from "./operations/explain-sandbox.ts";
import {
  acknowledgeIncident,
  acknowledgeIncidents,
  unacknowledgeIncident,
  unacknowledgeIncidents,
} from "./operations/acknowledgements.ts";
import { listIncidents } from "./operations/incidents.ts";
import { forgetKey } from "./operations/forget-key.ts";
import { computeInsights } from "./operations/insights.ts";
import { computeOutlook } from "./operations/outlook.ts";
import { lookUp } from "./operations/lookups.ts";
import {
  discardNotifications,
  listNotifications,
  replayNotifications,
  showNotification,
} from "./operations/notifications.ts";
import { reportOccupancy } from "./operations/occupancy.ts";
import { reportOccupancySeries } from "./operations/occupancy-series.ts";
import { listProbes } from "./operations/probes.ts";
import { sendReport } from "./operations/reports.ts";
import { listSandboxes, searchSandboxes, showSandbox } from "./operations/sandboxes.ts";
import { searchServers } from "./operations/search-servers.ts";
import { showIncident } from "./operations/show-incident.ts";
import { showSandboxTimeline, showTimeline } from "./operations/show-timeline.ts";
import { addSilence, listSilences } from "./operations/silences.ts";
import { showStatus } from "./operations/status.ts";
import { listServers, listTargets, pollTargets } from "./operations/targets.ts";

/** Every operation of the API, in the order of its document. */
export const apiOperations: readonly Operation[] = [
  listTargets,
  pollTargets,
  listSandboxes,
  searchSandboxes,
  showSandbox,
  showSandboxTimeline,
  listServers,
  searchServers,
  showTimeline,
  listChanges,
  reportOccupancy,
  reportOccupancySeries,
  computeInsights,
  computeOutlook,
  sendReport,
  explainServer,
  explainSandbox,
  listIncidents,
  showIncident,
  acknowledgeIncident,
  acknowledgeIncidents,
  unacknowledgeIncident,
  unacknowledgeIncidents,
  listSilences,
  addSilence,
  showSilence,
  changeSilence,
  expireSilence,
  listNotifications,
  showNotification,
  replayNotifications,
  discardNotifications,
  listProbes,
  showStatus,
  listDrift,
  checkConformance,
  lookUp,
  forgetKey,
];
