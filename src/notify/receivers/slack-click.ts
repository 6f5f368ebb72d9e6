import { z } from "zod";
import { slackActions, type SlackAction } from "./slack.ts";

const longestText = 200;
const text = z.string().min(1).max(longestText);

/** Of what Slack sends of a click, what is used (https://docs.slack.dev/reference/interaction-payloads/block_actions-payload). */
const clickSchema = z.object({
  type: z.literal("block_actions"),
  user: z.object({ id: text, username: text.nullish(), name: text.nullish() }),
  container: z.object({ type: z.literal("message"), channel_id: text, message_ts: text }),
  actions: z.tuple(
    [z.object({ action_id: z.enum(slackActions), action_ts: z.string().regex(/^\d{1,12}\.\d+$/) })],
    z.unknown(),
  ),
});

/** A click on a button of a message. */
export interface SlackClick {
  /** Of this click, however often it is sent. */
  readonly id: string;
  readonly action: SlackAction;
  /** UTC milliseconds. */
  readonly occurredAtMs: number;
  readonly user: { readonly id: string; readonly name: string };
  readonly channel: string;
  readonly ts: string;
}

/** Null: it is no click on a button of sandwatch. */
export function readSlackClick(payload: unknown): SlackClick | null {
  const read = clickSchema.safeParse(payload);
  if (!read.success) return null;
  const { user, container, actions } = read.data;
  const { channel_id: channel, message_ts: ts } = container;
  const [{ action_id: action, action_ts: atText }] = actions;
  return {
    id: `${channel} ${ts} ${user.id} ${action} ${atText}`,
    action,
    occurredAtMs: Math.round(Number(atText) * 1_000),
    user: { id: user.id, name: user.username ?? user.name ?? user.id },
    channel,
    ts,
  };
}
