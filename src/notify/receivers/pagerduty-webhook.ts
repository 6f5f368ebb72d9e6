import { createHmac, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import type { Secret } from "../../lib/secret.ts";

const version = "v1=";

/** A header has few signatures, unless somebody wants to have work done. */
const mostSignatures = 10;

/**
 * Whether one of the signatures of a webhook is right. PagerDuty states several while a secret is replaced
 * (https://developer.pagerduty.com/docs/verifying-webhook-signatures).
 */
export function isSignedByPagerduty(body: Uint8Array, header: string, secret: Secret): boolean {
  const own = createHmac("sha256", secret.reveal()).update(body).digest();
  return header
    .split(",", mostSignatures)
    .map((each) => each.trim())
    .filter((each) => each.startsWith(version))
    .map((each) => Buffer.from(each.slice(version.length), "hex"))
    .some((given) => given.length === own.length && timingSafeEqual(given, own));
}

const longestText = 1_000;
const shortened = z.string().transform((text) => text.slice(0, longestText));

const referenceSchema = z.object({
  id: z.string().max(longestText),
  type: z.string().max(longestText),
  summary: shortened.nullish(),
});

/** Of the payload of a v3 webhook, what is used (https://developer.pagerduty.com/docs/webhooks-overview). */
const webhookSchema = z.object({
  event: z.object({
    id: z.string().min(1).max(longestText),
    event_type: z.string().max(longestText),
    occurred_at: z.iso.datetime({ offset: true }).transform((text) => Date.parse(text)),
    agent: referenceSchema.nullish(),
    data: z.object({
      id: z.string().max(longestText).nullish(),
      incident_key: z.string().max(longestText).nullish(),
      incident: z.object({ id: z.string().max(longestText) }).nullish(),
      content: shortened.nullish(),
    }),
  }),
});

export type PagerdutyEvent = NonNullable<ReturnType<typeof readPagerdutyWebhook>>;

/** An event of PagerDuty. Null: the body is none. */
export function readPagerdutyWebhook(body: Uint8Array) {
  const read = webhookSchema.safeParse(parseJson(body));
  if (!read.success) return null;
  const { id, event_type: type, occurred_at: occurredAtMs, agent, data } = read.data.event;
  const isUser = agent?.type === "user_reference" || agent?.type === "user";
  return {
    id,
    /** Such as `incident.acknowledged`. */
    type,
    /** UTC milliseconds. */
    occurredAtMs,
    /** The user who did it; null: an integration, or PagerDuty itself. */
    user: agent && isUser ? { id: agent.id, name: agent.summary ?? agent.id } : null,
    /** PagerDuty's id of the incident. */
    incidentId: data.incident?.id ?? data.id ?? "",
    /** The `dedup_key` of the alert that opened the incident. Null: the event does not say. */
    alert: data.incident_key ?? null,
    /** Of a note. */
    content: data.content ?? null,
  } as const;
}

function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  } catch {
    return null;
  }
}
