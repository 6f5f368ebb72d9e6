import { z } from "zod";
import { startReceiverServer, status, type Answer } from "./receiver-server.ts";

const text = (longest: number) => z.string().min(1).max(longest);

/** https://discord.com/developers/docs/resources/webhook#execute-webhook, and the limits of embeds. */
const discord = z
  .strictObject({
    content: text(2_000),
    embeds: z
      .array(
        z.strictObject({
          title: text(256),
          description: text(4_096),
          color: z.int().min(0).max(0xff_ff_ff),
          timestamp: z.iso.datetime().optional(),
          footer: z.strictObject({ text: text(2_048) }),
        }),
      )
      .length(1),
    allowed_mentions: z.strictObject({ parse: z.tuple([]) }),
  })
  .refine(({ embeds }) =>
    embeds.every((each) => each.title.length + each.description.length < 5_900),
  );

const run = z.strictObject({
  type: z.literal("TextRun"),
  text: text(10_000),
  size: z.enum(["small", "large"]).optional(),
  weight: z.literal("bolder").optional(),
  color: z.enum(["attention", "warning", "accent", "good"]).optional(),
  isSubtle: z.boolean().optional(),
});

/** https://adaptivecards.io/explorer, as a workflow of Teams takes it. */
const teams = z
  .strictObject({
    type: z.literal("message"),
    attachments: z.tuple([
      z.strictObject({
        contentType: z.literal("application/vnd.microsoft.card.adaptive"),
        contentUrl: z.null(),
        content: z.strictObject({
          $schema: z.url(),
          type: z.literal("AdaptiveCard"),
          version: z.literal("1.4"),
          msteams: z.strictObject({ width: z.literal("Full") }),
          body: z.array(
            z.strictObject({ type: z.literal("RichTextBlock"), inlines: z.tuple([run]) }),
          ),
          actions: z.array(
            z.strictObject({ type: z.literal("Action.OpenUrl"), title: text(100), url: z.url() }),
          ),
        }),
      }),
    ]),
  })
  .refine((message) => Buffer.byteLength(JSON.stringify(message)) <= 28 * 1_024);

/** What is left of HTML as Telegram takes it, https://core.telegram.org/bots/api#html-style; null: it refuses it. */
export function shownByTelegram(html: string): string | null {
  const open: string[] = [];
  const plain = html.replaceAll(/<(\/?)(b|code|a)(?: href="https?:[^"<>]*")?>/g, (_, end, tag) => {
    if (end === "") open.push(tag);
    else if (open.pop() !== tag) open.push("wrong");
    return "";
  });
  const isRight = open.length === 0 && !/[<>]|&(?!(?:lt|gt|amp|quot);)/.test(plain);
  if (!isRight) return null;
  const signs: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"' };
  return plain.replaceAll(/&(\w+);/g, (_, name: string) => signs[name] ?? "");
}

const telegram = z.strictObject({
  chat_id: z.string(),
  message_thread_id: z.int().optional(),
  text: z.string().refine((html) => {
    const length = shownByTelegram(html)?.length ?? Infinity;
    return length >= 1 && length <= 4_096;
  }),
  parse_mode: z.literal("HTML"),
  link_preview_options: z.strictObject({ is_disabled: z.literal(true) }),
});

/** https://docs.ntfy.sh/publish/#publish-as-json, and the limits of the server. */
const ntfy = z
  .strictObject({
    topic: z.string().regex(/^[\w-]{1,64}$/),
    title: text(250),
    message: z.string().refine((message) => message !== "" && Buffer.byteLength(message) <= 4_096),
    priority: z.int().min(1).max(5),
    tags: z.array(text(100)),
    click: z.url().optional(),
    actions: z
      .array(z.strictObject({ action: z.literal("view"), label: text(100), url: z.url() }))
      .max(3)
      .optional(),
  })
  .refine((message) => Buffer.byteLength(JSON.stringify(message)) <= 8_192);

export const chatSchemas = { discord, teams, telegram, ntfy };

/** A peer that accepts messages which keep the documented limits, and refuses others. */
export async function startChatPeer(type: keyof typeof chatSchemas) {
  const accepted: Readonly<Record<typeof type, Answer>> = {
    discord: status(200, {}, '{"id":"1"}'),
    teams: status(202),
    telegram: status(200, {}, '{"ok":true,"result":{}}'),
    ntfy: status(200, {}, '{"id":"1"}'),
  };
  return startReceiverServer((response, request, index) => {
    const { success } = chatSchemas[type].safeParse(JSON.parse(request.body));
    (success ? accepted[type] : status(400))(response, request, index);
  });
}
