import { postableAlertsSchema } from "../../support/postable-alerts.ts";
import type { PostedAlert } from "../../support/postable-alerts.ts";
import type { Post } from "../history.ts";
import { generatorUrl } from "../settings.ts";
import type { ScriptedReceiverDeps } from "./scripted-receiver.ts";
import type { VirtualRequest } from "./virtual-network.ts";
import type { WorldTime } from "./world-time.ts";

/** Records what comes to the Alertmanager. */
export function recordPosts(time: WorldTime, posts: Post[]): ScriptedReceiverDeps["record"] {
  let before = "";
  return (request, taken) => {
    const alerts = readAlerts(request);
    const post: Post = {
      life: request.sender,
      sentMs: request.exchange.sentMs,
      atMs: time.nowMs,
      alerts,
      taken,
      answered: null,
      refused: null,
    };
    posts.push(post);
    const text = alerts.map((alert) => textOf(alert, time.utcMs)).join(", ");
    const isNews = text !== before || !taken;
    before = text;
    return { received: post, text, isNews };
  };
}

/** @throws {Error} when Alertmanager would reject the request */
function readAlerts({ method, path, headers, body }: VirtualRequest): readonly PostedAlert[] {
  if (method !== "POST" || path !== "/api/v2/alerts") throw new Error(`${method} ${path} is asked`);
  if (headers["content-type"] !== "application/json") throw new Error("the alerts are not JSON");
  const alerts = postableAlertsSchema.min(1).parse(JSON.parse(body));
  for (const { generatorURL, annotations } of alerts) {
    if (generatorURL !== generatorUrl) throw new Error("the alert has another link");
    if (!annotations["summary"]) throw new Error("the alert has no summary");
    if (!annotations["incident_id"]) throw new Error("the alert names no incident");
  }
  const labels = new Set(alerts.map((alert) => JSON.stringify(alert.labels)));
  if (labels.size < alerts.length) throw new Error("an alert is contained twice");
  return alerts;
}

function textOf({ labels, annotations, endsAt }: PostedAlert, utcMs: number): string {
  const { alertname, region, key, sandbox_id: box, server_id: server } = labels;
  const state = Date.parse(endsAt) > utcMs ? "fires" : "is resolved";
  const about = `${region}/${key} ${box ?? ""} ${server ?? ""}`;
  return `${alertname} ${annotations["incident_id"]} (${about}) ${state}`;
}
