import { randomUUID } from "node:crypto";
import { z } from "zod";
import { slackError, startSlackApi } from "../notify/support/slack-api.ts";
import { status, type Answer } from "../notify/support/receiver-server.ts";
import { startWebSocketServer, type WebSocketPeer } from "./websocket-server.ts";

export const botToken = "xoxb-T0PSECRET";
export const appToken = "xapp-1-A012AB3CD-T0PSECRETapp";

/** Slack shows an error to who clicked what is not acknowledged in this time. */
const acknowledgedWithinMs = 3_000;

interface SlackUser {
  readonly id: string;
  readonly username: string;
}
export const ann: SlackUser = { id: "U0ANN1234", username: "ann.example" };
export const bob: SlackUser = { id: "U0BOB1234", username: "bob <b> & co" };

const ephemeralSchema = z.strictObject({
  channel: z.string().startsWith("C-"),
  user: z.string().startsWith("U"),
  text: z.string().min(1).max(4_000),
});

interface Connection {
  readonly peer: WebSocketPeer;
  isOpen: boolean;
}

/**
 * An app of Slack with Socket Mode, by https://docs.slack.dev/apis/events-api/using-socket-mode and
 * https://docs.slack.dev/reference/methods/apps.connections.open, besides its Web API. Interactions are as in
 * https://docs.slack.dev/reference/interaction-payloads/block_actions-payload.
 */
export async function startSlackService(now: () => number) {
  const api = await startSlackApi();
  const tickets = new Set<string>();
  const connections: Connection[] = [];
  /** What only one user sees, as "user: text". */
  const answers: string[] = [];
  const waiting = new Map<string, (isAcknowledged: boolean) => void>();
  /** `refuses` and `answersNot`: the error of connections, and of answers to one user; `retryAfter` in seconds. */
  const state = {
    retryAfter: null as string | null,
    refuses: null as string | null,
    answersNot: null as string | null,
    opened: 0,
    clicks: 0,
  };
  const changed = new Set<() => void>();
  const change = (): void => changed.forEach((look) => look());

  const openConnection = (authorization = ""): Answer => {
    if (state.retryAfter !== null) return status(429, { "retry-after": state.retryAfter });
    if (state.refuses !== null) return slackError(state.refuses);
    if (authorization === `Bearer ${botToken}`) return slackError("not_allowed_token_type");
    if (authorization !== `Bearer ${appToken}`) return slackError("invalid_auth");
    const ticket = randomUUID();
    tickets.add(ticket);
    const url = `ws://127.0.0.1:${port}/link/?ticket=${ticket}&app_id=T0PSECRETticket`;
    return status(200, {}, JSON.stringify({ ok: true, url }));
  };

  const answerOne = (body: string): Answer => {
    const { user, text } = ephemeralSchema.parse(JSON.parse(body));
    if (state.answersNot !== null) return slackError(state.answersNot);
    answers.push(`${user}: ${text}`);
    return status(200, {}, JSON.stringify({ ok: true, message_ts: "1.0" }));
  };

  const respond: Answer = (response, request, index) => {
    const { authorization } = request.headers;
    const method = request.path.split("/").at(-1);
    if (method === "apps.connections.open") {
      openConnection(authorization)(response, request, index);
    } else if (method === "chat.postEphemeral") {
      const isRight = authorization === `Bearer ${botToken}`;
      const answer = isRight ? answerOne(request.body) : slackError("invalid_auth");
      answer(response, request, index);
    } else api.accept(response, request, index);
    change();
  };
  api.server.answerWith(respond);

  const port = await startWebSocketServer({
    // A ticket opens one connection.
    accepts: (path) => tickets.delete(new URL(path, "ws://slack").searchParams.get("ticket") ?? ""),
    onOpen(peer) {
      state.opened += 1;
      connections.push({ peer, isOpen: true });
      peer.send({
        type: "hello",
        num_connections: connections.filter(({ isOpen }) => isOpen).length,
        debug_info: { host: "applink-1", build_number: 1, approximate_connection_time: 18_060 },
        connection_info: { app_id: "A012AB3CD" },
      });
      change();
    },
    onText(_, text) {
      const { envelope_id: id } = z
        .strictObject({ envelope_id: z.string() })
        .parse(JSON.parse(text));
      const acknowledged = waiting.get(id);
      if (!acknowledged) throw new Error("an envelope was acknowledged twice, or never sent");
      waiting.delete(id);
      acknowledged(true);
    },
    onClosed(peer) {
      const closed = connections.find((each) => each.peer === peer);
      if (closed) closed.isOpen = false;
      change();
    },
  });

  /** Those that are open, the newest one first. */
  const open = () => connections.filter(({ isOpen }) => isOpen).toReversed();

  const payloadOf = (
    action: string,
    user: SlackUser,
    { channel, ts, actionTs }: { channel: string; ts: string; actionTs: string },
  ) => ({
    type: "block_actions",
    user: { ...user, name: user.username, team_id: "T012AB3CD" },
    api_app_id: "A012AB3CD",
    token: "T0PSECRETverification",
    container: { type: "message", message_ts: ts, channel_id: channel, is_ephemeral: false },
    trigger_id: "12321423423.333649436676.T0PSECRETtrigger",
    team: { id: "T012AB3CD", domain: "example" },
    enterprise: null,
    is_enterprise_install: false,
    channel: { id: channel, name: "alerts" },
    state: { values: {} },
    response_url: "https://hooks.slack.com/actions/T012AB3CD/1/T0PSECRETresponse",
    actions: [
      {
        action_id: action,
        block_id: "b1",
        text: { type: "plain_text", text: action, emoji: true },
        type: "button",
        action_ts: actionTs,
      },
    ],
  });

  /** Sends a payload through one connection. Gives whether it was acknowledged. */
  const send = async (payload: object, connection = open()[0]): Promise<boolean> => {
    if (!connection) throw new Error("no connection is open");
    const id = randomUUID();
    const sentAt = performance.now();
    const acknowledged = new Promise<boolean>((resolve) => {
      waiting.set(id, resolve);
      changed.add(() => {
        if (!connection.isOpen) resolve(false);
      });
    });
    connection.peer.send({
      type: "interactive",
      envelope_id: id,
      payload,
      accepts_response_payload: true,
    });
    return (await acknowledged) && performance.now() - sentAt < acknowledgedWithinMs;
  };

  return {
    ...api,
    url: `${api.server.origin}/api/`,
    state,
    answers,
    send,
    open,
    payloadOf,
    /** Resolves once it holds. */
    until: (holds: () => boolean): Promise<void> =>
      new Promise((resolve) => {
        const look = (): void => {
          if (holds()) resolve();
        };
        changed.add(look);
        look();
      }),
    /** Somebody clicks on a button of the message that was posted last, or of another one. */
    click(action: string, user: SlackUser, { ts: at = "", again = false } = {}): Promise<boolean> {
      const posted = [...api.messages].filter(([, { thread }]) => thread === null);
      const [ts = "", message] = posted.find(([each]) => each === at) ?? posted.at(-1) ?? [];
      if (!message) throw new Error("there is no message");
      if (at === "" && !message.buttons.includes(action)) {
        throw new Error(`the message has no button ${action}`);
      }
      if (!again) state.clicks += 1;
      const actionTs = `${Math.floor(now() / 1_000)}.${String(state.clicks).padStart(6, "0")}`;
      return send(payloadOf(action, user, { channel: message.channel, ts, actionTs }));
    },
    /** Slack replaces its connections now and then, and announces it. */
    refresh(): void {
      for (const { peer } of open()) {
        peer.send({ type: "disconnect", reason: "warning", debug_info: { host: "applink-1" } });
      }
    },
  };
}
