import { incidentUrl, messageUrl } from "../../alerts/links.ts";
import { summaryAt } from "../../alerts/notification.ts";
import type { Labels, Notification, NotifiedIncident } from "../../alerts/notification.ts";
import { incidentValues, type BodyVariable } from "../../alerts/template.ts";
import type { IncidentVariable, Json } from "../../alerts/template.ts";
import { shownName, someOf } from "../../fleet/text.ts";
import { compileTemplate, type FillTemplate } from "../../lib/liquid.ts";
import { commonLabels, incidentFields, runbookFor } from "./message-text.ts";

/** @param textOf fills one template */
type Fill = (textOf: (template: FillTemplate) => string) => Json;

/**
 * Compiles all texts of a body, but not the names of its fields. JSON is made of what they give, so nothing in a value can
 * change the body's form.
 */
export function compileBody(template: Json) {
  const fill = compile(template);
  return (
    notification: Notification,
    nowMs: number,
    externalUrl: string | null = null,
    longestText = Infinity,
  ) => {
    const variables = variablesOf(notification, nowMs, externalUrl);
    let isReplaced = false;
    const body = fill((textOf) => {
      const text = textOf(variables);
      if (text !== null && text.length <= longestText) return text;
      isReplaced = true;
      return variables.summary;
    });
    /** `isReplaced`: some text could not be filled, or was too long, and the summary is in its place. */
    return { body, isReplaced };
  };
}

function compile(template: Json): Fill {
  if (typeof template === "string") {
    const text = compileTemplate(template);
    return (textOf) => textOf(text);
  }
  if (typeof template !== "object" || template === null) return () => template;
  if (isList(template)) {
    const items = template.map(compile);
    return (textOf) => items.map((fill) => fill(textOf));
  }
  const fields = Object.entries(template).map(([name, value]) => [name, compile(value)] as const);
  return (textOf) => Object.fromEntries(fields.map(([name, fill]) => [name, fill(textOf)]));
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

/** As in all texts for people: short, and without mentions. */
function shownNames(incident: NotifiedIncident) {
  const { sandboxId, serverId, serverName, benchmark, acknowledgedBy } = incident;
  const shown = (name: string | null) => name && shownName(name);
  return {
    sandbox_id: shown(sandboxId),
    server_id: shown(serverId),
    server_name: shown(serverName),
    benchmark: shown(benchmark),
    acknowledged_by: shown(acknowledgedBy),
  };
}

/** A label that a key does not have is empty, instead of an error: others may have it. */
function readLabels(labels: Labels): Labels {
  return new Proxy(labels, {
    get: (own, name) => (typeof name === "symbol" || name in own ? Reflect.get(own, name) : ""),
    getOwnPropertyDescriptor: (own, name) =>
      Object.getOwnPropertyDescriptor(own, name) ??
      (name in own ? undefined : { configurable: true, enumerable: false, value: "" }),
  });
}

function variablesOf(notification: Notification, nowMs: number, externalUrl: string | null) {
  const { type, id, rule, severity, incidents, truncated, stillFiring = 0 } = notification;
  const all = (name: keyof typeof incidentValues): string =>
    someOf(incidents.map((each) => incidentValues[name](each) ?? ""));
  return {
    type,
    id,
    rule,
    severity,
    truncated,
    summary: summaryAt(notification, nowMs),
    url: externalUrl === null ? "" : messageUrl(externalUrl, notification),
    runbook_url: runbookFor(notification, externalUrl) ?? "",
    count: incidents.length + truncated,
    still_firing: stillFiring,
    labels: readLabels(commonLabels(notification)),
    report: notification.report?.lines.join("\n") ?? "",
    region: all("region"),
    key: all("key"),
    sandbox_id: all("sandbox_id"),
    server_id: all("server_id"),
    server_name: all("server_name"),
    benchmark: all("benchmark"),
    probe: all("probe"),
    status: all("status"),
    previous_status: all("previous_status"),
    incidents: incidents.map((incident): Readonly<Record<IncidentVariable, unknown>> => ({
      probe: null,
      receiver: null,
      flapping: false,
      ...incidentFields(incident),
      ...shownNames(incident),
      labels: readLabels(incident.labels ?? {}),
      url: externalUrl === null || type === "test" ? "" : incidentUrl(externalUrl, incident.id),
    })),
  } satisfies Readonly<Record<BodyVariable, unknown>>;
}
