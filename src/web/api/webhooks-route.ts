import type { FastifyInstance } from "fastify";
import { sendProblem } from "./problem.ts";
import type { Refusal } from "../refusals.ts";

/** What a service sent about its own incidents, as it was sent. */
export interface ReceivedWebhook {
  readonly receiver: string;
  readonly signature: string;
  readonly body: Uint8Array;
}

export type WebhookOutcome =
  /** Nobody who knows the secret of such a receiver signed it. */
  | { readonly kind: "unsigned" }
  | { readonly kind: "unreadable" }
  /** `by`: who is answerable for it; null: nobody that the configuration names. */
  | { readonly kind: "handled"; readonly by: string | null; readonly done: string };

export interface WebhooksDeps {
  /** Default: no receiver takes webhooks. */
  readonly receiveWebhook?: ((webhook: ReceivedWebhook) => Promise<WebhookOutcome>) | undefined;
  readonly onRefused: (refusal: Refusal) => void;
}

export const pagerdutyPath = "/v1/integrations/pagerduty/:receiver";

/** Adds where services send webhooks. Who may do that is decided by their signature, not by tokens. */
export function addWebhooksRoute(api: FastifyInstance, deps: WebhooksDeps): void {
  const { receiveWebhook, onRefused } = deps;
  if (!receiveWebhook) return;
  void api.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    // What is signed are the bytes.
    scope.addContentTypeParser("*", { parseAs: "buffer" }, (_, body, done) => done(null, body));
    scope.post<{ Params: { receiver: string } }>(
      pagerdutyPath,
      { config: { permission: "act", isSigned: true, operation: "receivePagerdutyEvent" } },
      async (request, reply) => {
        const { params, headers, body, sender } = request;
        const outcome = await receiveWebhook({
          receiver: params.receiver,
          signature: String(headers["x-pagerduty-signature"] ?? ""),
          body: body instanceof Uint8Array ? body : new Uint8Array(),
        });
        if (outcome.kind === "unsigned") {
          onRefused({ reason: "signature", address: sender });
          // One answer for all, so that nobody learns which receivers there are.
          const detail =
            "No receiver of this name has a webhook_secret by which X-PagerDuty-Signature is right.";
          return sendProblem(reply, { status: 401, detail });
        }
        if (outcome.kind === "unreadable") {
          return sendProblem(reply, { status: 400, detail: "This is no event of PagerDuty." });
        }
        // PagerDuty stops to send webhooks of which several were refused: what changes nothing is accepted, too.
        if (outcome.by !== null) request.identity = { name: outcome.by, role: "operator" };
        return reply.send({ done: outcome.done });
      },
    );
  });
}
