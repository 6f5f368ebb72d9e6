import { z } from "zod";

/** Only the blocks that are used, by https://docs.slack.dev/reference/block-kit/blocks. */
const plainText = (longest: number) =>
  z.strictObject({
    type: z.literal("plain_text"),
    text: z.string().min(1).max(longest),
    emoji: z.boolean(),
  });

const mrkdwn = (longest: number) =>
  z.strictObject({
    type: z.literal("mrkdwn"),
    text: z.string().min(1).max(longest),
    verbatim: z.boolean(),
  });

/** https://docs.slack.dev/reference/block-kit/block-elements/button-element */
const button = z.strictObject({
  type: z.literal("button"),
  action_id: z.string().min(1).max(255),
  text: plainText(75),
  value: z.string().min(1).max(2_000).optional(),
});

const elementsOfActions = z
  .array(button)
  .min(1)
  .max(25)
  .refine((all) => new Set(all.map(({ action_id: id }) => id)).size === all.length);

const block = z.union([
  z.strictObject({ type: z.literal("header"), text: plainText(150) }),
  z.strictObject({ type: z.literal("section"), text: mrkdwn(3_000) }),
  z.strictObject({ type: z.literal("actions"), elements: elementsOfActions }),
  z.strictObject({
    type: z.literal("context"),
    elements: z.array(mrkdwn(3_000)).min(1).max(10),
  }),
]);

export const slackMessageSchema = z.strictObject({
  text: z.string().min(1).max(4_000),
  blocks: z.array(block).min(1).max(50),
});

export type SlackMessage = z.infer<typeof slackMessageSchema>;

/** What a reader sees, a block a line. Buttons are in brackets. */
export function shownBy(message: SlackMessage): readonly string[] {
  return message.blocks.map((each) => {
    if (each.type === "actions") {
      return each.elements.map(({ text }) => `[${text.text}]`).join(" ");
    }
    if ("elements" in each) return each.elements.map(({ text }) => text).join(" | ");
    return each.text.text;
  });
}

/** What can be clicked. */
export function buttonsOf({ blocks }: SlackMessage): readonly string[] {
  return blocks.flatMap((each) =>
    each.type === "actions" ? each.elements.map(({ action_id: id }) => id) : [],
  );
}
