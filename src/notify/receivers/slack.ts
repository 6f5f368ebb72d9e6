import type { Secret } from "../../platform/secret.ts";
import { createOutbound, readAnswer } from "../outbound.ts";
import type { Answer, OutboundDeps } from "../outbound.ts";
import type { AttemptFailureReason, Receiver, SendResult } from "../receiver.ts";
import { parseReceiverUrl } from "./receiver-url.ts";
import { renderSlackBody } from "./slack-body.ts";

export interface SlackReceiverSettings {
  readonly name: string;
  readonly type: "slack";
  /** Of an incoming webhook. */
  readonly url: Secret;
}

/** Slack takes about one message a second from an incoming webhook. */
const restMs = 1_000;

/**
 * Posts notifications to a Slack incoming webhook.
 *
 * @throws {Error} when the address cannot be used; it does not show it
 */
export function createSlackReceiver(settings: SlackReceiverSettings, deps: OutboundDeps): Receiver {
  const url = parseReceiverUrl(settings);
  const outbound = createOutbound(deps);
  const headers = { "content-type": "application/json; charset=utf-8" };

  return {
    name: settings.name,
    restMs,
    async send(notification, signal) {
      const body = renderSlackBody(notification, deps.clock.now().utcMs);
      const answer = await outbound.post({ url, body, headers }, signal);
      return answer.kind === "answered" ? readSlackAnswer(answer) : answer;
    },
    close: () => outbound.close(),
  };
}

/** What Slack says in words, and what it means: whether trying again can help, and who must act. */
const errors = new Map<string, AttemptFailureReason>([
  ["invalid_payload", "rejected"],
  ["invalid_blocks", "rejected"],
  ["invalid_blocks_format", "rejected"],
  ["missing_text_or_fallback_or_attachments", "rejected"],
  ["no_text", "rejected"],
  ["too_many_attachments", "rejected"],
  ["action_prohibited", "rejected"],
  ["posting_to_general_channel_denied", "rejected"],
  ["user_not_found", "rejected"],
  ["invalid_token", "gone"],
  ["no_active_hooks", "gone"],
  ["no_service", "gone"],
  ["no_service_id", "gone"],
  ["no_team", "gone"],
  ["team_disabled", "gone"],
  ["channel_not_found", "gone"],
  ["channel_is_archived", "gone"],
  ["rate_limited", "rate_limited"],
  ["rollup_error", "server_error"],
]);

/**
 * Of the text only a word that is known is shown: it could hold anything. What such a word says goes
 * before the status, which proxies and services that speak like Slack may leave at 200.
 */
function readSlackAnswer(answer: Answer): SendResult {
  const word = answer.text.trim();
  const reason = errors.get(word);
  if (reason === undefined) return readAnswer(answer);
  const { status, retryAfterMs } = answer;
  return { kind: "failed", reason, detail: `HTTP ${status} ${word}`, retryAfterMs };
}
