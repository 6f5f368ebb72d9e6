import { z } from "zod";
import { buttonsOf, shownBy, slackMessageSchema } from "./slack-message.ts";
import { startReceiverServer, status, type Answer } from "./receiver-server.ts";

const where = z.looseObject({
  channel: z.string(),
  ts: z.string().optional(),
  thread_ts: z.string().optional(),
});

interface Posted {
  readonly channel: string;
  readonly thread: string | null;
  /** The heading and the summary. */
  text: string;
  /** What can be clicked. */
  buttons: readonly string[];
}

export const slackError = (error: string, code = 200, headers = {}): Answer =>
  status(code, headers, JSON.stringify({ ok: false, error }));

/** The Web API of Slack as far as it is used: messages of one channel by their `ts`. */
export async function startSlackApi() {
  const messages = new Map<string, Posted>();
  const calls: string[] = [];
  const ok = (fields: object): Answer => status(200, {}, JSON.stringify({ ok: true, ...fields }));
  const accept: Answer = (response, request, index) => {
    const {
      channel,
      ts,
      thread_ts: thread,
      unfurl_links: _links,
      unfurl_media: _media,
      ...message
    } = where.parse(JSON.parse(request.body));
    const parsed = slackMessageSchema.parse(message);
    const [heading = "", summary = ""] = shownBy(parsed);
    const text = `${heading} | ${summary}`;
    const buttons = buttonsOf(parsed);
    const method = request.path.split("/").at(-1) ?? "";
    calls.push(thread === undefined ? method : `${method} in thread`);
    const reply = (): Answer => {
      if (request.headers.authorization !== "Bearer xoxb-T0PSECRET")
        return slackError("invalid_auth");
      if (method === "chat.postMessage") {
        const posted = `${index + 1}.0`;
        messages.set(posted, { channel: `C-${channel}`, thread: thread ?? null, text, buttons });
        return ok({ channel: `C-${channel}`, ts: posted });
      }
      const changed = messages.get(ts ?? "");
      if (!changed || changed.channel !== channel) return slackError("message_not_found");
      Object.assign(changed, { text, buttons });
      return ok({ channel, ts });
    };
    reply()(response, request, index);
  };
  const server = await startReceiverServer(accept);
  return {
    server,
    accept,
    calls,
    messages,
    /** As the channel shows them: answers are indented. */
    shown: () =>
      Array.from(messages.values(), ({ thread, text }) => (thread === null ? text : `  ${text}`)),
  };
}
