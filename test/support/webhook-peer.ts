import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";
import { expect } from "vitest";
import type { z } from "zod";
import { listenOnLoopback } from "./listen.ts";
import { webhookBodySchema } from "./webhook-body.ts";

export const webhookSecret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

export type Alert = z.infer<typeof webhookBodySchema> & { readonly webhookId: string };

export interface WebhookPeer {
  readonly url: string;
  /** What came with a valid signature and a body as the contract has it, in order. */
  readonly alerts: readonly Alert[];
  /** What came otherwise: why it was refused. */
  readonly refused: readonly string[];
  /** The `webhook-id` of every attempt, also of those that were answered with an error. */
  readonly attemptedIds: readonly string[];
  /** From now on every attempt is answered with this status; 204 takes it. */
  answer(status: number): void;
  /** From now on attempts get no answer at all. */
  hang(): void;
  /** Resolves when N attempts have come in all. */
  attempted(count: number): Promise<void>;
  /** Resolves when N alerts have come in all. */
  received(count: number): Promise<void>;
}

/** A receiver that trusts nothing: it checks the signature and every field of the body. */
export async function startWebhookPeer(): Promise<WebhookPeer> {
  const alerts: Alert[] = [];
  const refused: string[] = [];
  const attemptedIds: string[] = [];
  let status: number | "hang" = 204;
  const news = new EventTarget();
  const reached = async (list: readonly unknown[], count: number): Promise<void> => {
    while (list.length < count) {
      await new Promise((resolve) => news.addEventListener("news", resolve, { once: true }));
    }
  };
  const webhook = new Webhook(webhookSecret);
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request);
    const webhookId = String(request.headers["webhook-id"]);
    attemptedIds.push(webhookId);
    news.dispatchEvent(new Event("news"));
    if (status === "hang") return;
    if (status !== 204) return void response.writeHead(status).end();
    const sentAt = new Date(Number(request.headers["webhook-timestamp"]) * 1_000);
    try {
      // Not `verify`: it would hold the time against the machine's clock, not the test's.
      expect(request.headers["webhook-signature"]).toBe(webhook.sign(webhookId, sentAt, body));
      alerts.push({ ...webhookBodySchema.parse(JSON.parse(body)), webhookId });
      response.writeHead(204).end();
      news.dispatchEvent(new Event("news"));
    } catch (error) {
      refused.push(String(error));
      response.writeHead(400).end();
    }
  };
  const server = createServer((request, response) => void receive(request, response));
  const port = await listenOnLoopback(server);
  return {
    url: `http://127.0.0.1:${port}/hook`,
    alerts,
    refused,
    attemptedIds,
    answer: (next) => void (status = next),
    hang: () => void (status = "hang"),
    attempted: (count) => reached(attemptedIds, count),
    received: (count) => reached(alerts, count),
  };
}
