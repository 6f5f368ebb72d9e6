import { createHmac, randomUUID } from "node:crypto";
import { startPagerduty } from "../notify/support/pagerduty.ts";

/** What PagerDuty makes for a webhook subscription. */
export const webhookSecret = "T0PSECRETwebhooksecret0123456789";

/** The largest that PagerDuty delivers for certain (https://developer.pagerduty.com/docs/webhooks-behavior). */
const largestWebhook = 55 * 1_024;

/** A user as references name them. */
export interface PagerdutyUser {
  readonly id: string;
  readonly summary: string;
}

export const ann: PagerdutyUser = { id: "PANN123", summary: "Ann Example" };
export const bob: PagerdutyUser = { id: "PBOB123", summary: "Bob Example" };

export interface SendOptions {
  /** Several while a secret is replaced, the new one last. */
  readonly secrets?: readonly string[];
  readonly signature?: string;
  readonly id?: string;
  readonly occurredAtMs?: number;
  readonly receiver?: string;
  readonly body?: string;
  readonly data?: object;
}

/** A receiver at it, of whose users the configuration names Ann. */
export function pagerAt(origin: string) {
  return {
    name: "pager",
    type: "pagerduty",
    routing_key: "T0PSECRET".padEnd(32, "0"),
    url: `${origin}/v2/enqueue`,
    webhook_secret: webhookSecret,
    users: { [ann.id]: "ann" },
  };
}

/**
 * PagerDuty with one service: its Events API v2, and a webhook subscription whose payloads are as in
 * https://developer.pagerduty.com/docs/webhooks-overview, signed as in
 * https://developer.pagerduty.com/docs/verifying-webhook-signatures.
 *
 * @param address where sandwatch serves
 */
export async function startPagerdutyService(
  address: () => Promise<string>,
  now: () => number,
  secret = webhookSecret,
) {
  const { server, events, state } = await startPagerduty();
  /** By `dedup_key`. An incident keeps its id until it is resolved. */
  const incidents = new Map<string, string>();
  let opened = 0;

  const incidentOf = (key: string): string => {
    const known = incidents.get(key) ?? `PINC${String(++opened).padStart(4, "0")}`;
    incidents.set(key, known);
    return known;
  };

  /** The one alert that was opened last. */
  const lastKey = (): string => {
    const key = events.at(-1)?.dedup_key;
    if (key === undefined) throw new Error("PagerDuty got no event");
    return key;
  };

  const reference = (type: string, { id, summary }: PagerdutyUser) => ({
    html_url: `https://acme.pagerduty.com/users/${id}`,
    id,
    self: `https://api.pagerduty.com/users/${id}`,
    summary,
    type,
  });

  /** An incident note refers to its incident, and has no key. */
  const dataOf = (type: string, key: string, content: string): object =>
    type === "incident.annotated"
      ? {
          incident: reference("incident_reference", { id: incidentOf(key), summary: "An alert" }),
          id: "PNOTE12",
          content,
          trimmed: false,
          type: "incident_note",
        }
      : {
          id: incidentOf(key),
          type: "incident",
          self: `https://api.pagerduty.com/incidents/${incidentOf(key)}`,
          number: 2,
          status: "acknowledged",
          incident_key: key,
          created_at: new Date(now()).toISOString(),
          title: "An alert",
          service: reference("service_reference", { id: "PSERV12", summary: "Sandboxes" }),
          assignees: [reference("user_reference", ann)],
          urgency: "high",
          resolve_reason: null,
        };

  /** Sends one event; null as agent: PagerDuty itself. */
  const send = async (
    type: string,
    agent: PagerdutyUser | "integration" | null,
    options: SendOptions & { readonly key?: string; readonly content?: string } = {},
  ) => {
    const { id = randomUUID(), occurredAtMs = now(), receiver = "pager", content = "" } = options;
    const data =
      options.data ??
      (type === "pagey.ping"
        ? { message: "Hello from your friend Pagey!", type: "ping" }
        : dataOf(type, options.key ?? lastKey(), content));
    const integration = { id: "PINTEG1", summary: "sandwatch" };
    const payload = {
      event: {
        id,
        event_type: type,
        resource_type: type.split(".")[0],
        occurred_at: new Date(occurredAtMs).toISOString(),
        agent:
          agent === "integration"
            ? reference("events_api_v2_inbound_integration_reference", integration)
            : agent && reference("user_reference", agent),
        client: null,
        data,
      },
    };
    const body = options.body ?? JSON.stringify(payload);
    if (options.body === undefined && Buffer.byteLength(body) > largestWebhook) {
      throw new Error("PagerDuty does not deliver so large a webhook");
    }
    const sign = (each: string): string =>
      `v1=${createHmac("sha256", each).update(body).digest("hex")}`;
    const signature = options.signature ?? (options.secrets ?? [secret]).map(sign).join(",");
    const url = `${await address()}/api/v1/integrations/pagerduty/${receiver}`;
    const headers = {
      "content-type": "application/json",
      "user-agent": "PagerDuty-Webhook/V3.0",
      "x-webhook-id": randomUUID(),
      ...(signature !== "" && { "x-pagerduty-signature": signature }),
    };
    const response = await fetch(url, { method: "POST", headers, body });
    const text = await response.text();
    const read: unknown = JSON.parse(text);
    const done =
      typeof read === "object" && read !== null && "done" in read ? String(read.done) : text;
    // https://developer.pagerduty.com/docs/webhooks-behavior: what is answered like this is dropped, and three dropped ones
    // in a row disable the subscription.
    const isDropped = response.status >= 400 && response.status < 500 && response.status !== 429;
    if (type === "incident.resolved") incidents.delete(options.key ?? lastKey());
    return { status: response.status, done, isDropped, body };
  };

  return { server, events, state, send, lastKey };
}
