import { z } from "zod";
import { Secret } from "../../lib/secret.ts";
import { parseReceiverUrl, readAnswer, readJson, type Answer, type Outbound } from "../outbound.ts";
import { failed, type AttemptFailureReason, type SendResult } from "../receiver.ts";

type SlackMethod =
  | "apps.connections.open"
  | "chat.postEphemeral"
  | "chat.postMessage"
  | "chat.update";

const answerSchema = z.object({
  ok: z.boolean(),
  error: z.string().optional(),
  channel: z.string().optional(),
  ts: z.string().optional(),
  url: z.string().optional(),
});
type SlackAnswer = z.infer<typeof answerSchema>;

export type SlackApi = ReturnType<typeof createSlackApi>;

/** Calls methods of Slack's Web API. `read` is what it answered; null: that cannot be read. */
export function createSlackApi(
  settings: { readonly name: string; readonly url: Secret },
  outbound: Pick<Outbound, "send">,
) {
  const base = parseReceiverUrl(settings).href.replace(/\/*$/, "/");
  const headers = { "content-type": "application/json; charset=utf-8" };
  return async (
    method: SlackMethod,
    token: Secret,
    content: object,
    signal: AbortSignal,
  ): Promise<{ readonly result: SendResult; readonly read: SlackAnswer | null }> => {
    const secretHeaders = new Map([["authorization", new Secret(`Bearer ${token.reveal()}`)]]);
    let read: SlackAnswer | null = null;
    const request = { url: new URL(method, base), body: JSON.stringify(content), headers };
    const result = await outbound.send({ ...request, secretHeaders }, signal, (answer) => {
      read = readJson(answer, answerSchema);
      return resultOf(answer, read);
    });
    return { result, read };
  };
}

const errorsByReason = {
  rejected:
    "invalid_blocks invalid_blocks_format msg_too_long msg_blocks_too_long no_text too_many_attachments " +
    "invalid_arguments invalid_form_data invalid_json message_not_found cant_update_message edit_window_closed " +
    "restricted_action restricted_action_read_only_channel user_not_in_channel invalid_payload " +
    "missing_text_or_fallback_or_attachments action_prohibited posting_to_general_channel_denied user_not_found",
  gone:
    "invalid_auth not_authed account_inactive token_revoked token_expired missing_scope no_permission " +
    "not_allowed_token_type ekm_access_denied org_login_required channel_not_found not_in_channel is_archived " +
    "access_denied forbidden_team team_disabled invalid_token no_active_hooks no_service no_service_id no_team " +
    "channel_is_archived",
  rate_limited: "ratelimited rate_limited message_limit_exceeded",
  server_error:
    "internal_error fatal_error service_unavailable request_timeout team_added_to_org rollup_error",
} as const;
const reasons = ["rejected", "gone", "rate_limited", "server_error"] as const;

/** What the errors of Slack's Web API and of its incoming webhooks mean. One that is not known is tried again. */
export const slackErrors: ReadonlyMap<string, AttemptFailureReason> = new Map(
  reasons.flatMap((reason) =>
    errorsByReason[reason].split(" ").map((error) => [error, reason] as const),
  ),
);

function resultOf(answer: Answer, read: SlackAnswer | null): SendResult {
  const result = readAnswer(answer);
  if (result.kind !== "delivered" || read?.ok === true) return result;
  // An answer of Slack's API is JSON; anything else is from something on the way.
  const error = read?.error ?? "";
  const reason = slackErrors.get(error);
  const detail = `HTTP ${answer.status} ${reason === undefined ? "with an error" : error}`;
  return failed(reason ?? "server_error", detail, answer.retryAfterMs);
}
