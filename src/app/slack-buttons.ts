import { matchText, silenceFacts, type SilenceMatch } from "../alerts/silence.ts";
import type { Needs } from "../api/context.ts";
import type { AcknowledgeContext } from "../api/operations/acknowledgements.ts";
import { addOrProlong, matchOf } from "../api/operations/silences.ts";
import type { ReceiverConfig } from "../config/schema-receivers.ts";
import { RefusedError } from "../lib/refused-error.ts";
import type { Secret } from "../lib/secret.ts";
import type { Outbound } from "../notify/outbound.ts";
import type { NotifiedAlert } from "../store/receiver-state.ts";
import { escapeMrkdwn, readSlackClick, type SlackClick } from "../notify/receivers/slack.ts";
import { createSlackApi, type SlackApi } from "../notify/receivers/slack-api.ts";
import { firingInMessage } from "../notify/receivers/slack-app.ts";
import { SlackSocket } from "../notify/receivers/slack-socket.ts";
import type { DaemonCore } from "./daemon-core.ts";
import { acknowledgeAll, clockToleranceMs, createActs, nothing, refused } from "./receiver-acts.ts";
import type { Done, ReceiverAct } from "./receiver-acts.ts";

const silenceMs = 60 * 60_000;

type ButtonsContext = AcknowledgeContext & Needs<"log" | "newId">;

interface ButtonsDeps extends Pick<DaemonCore, "config" | "random"> {
  readonly context: ButtonsContext;
  readonly outbound: Outbound;
  /** Is kept up to date: whether clicks can arrive, by receiver. */
  readonly connected: Map<string, boolean>;
}

/** A receiver in whose messages people may click. */
interface Acting {
  readonly name: string;
  readonly token: Secret;
  readonly appToken: Secret;
  readonly users: ReadonlyMap<string, string>;
  readonly api: SlackApi;
  readonly isEncrypted: boolean;
}

/** Handles clicks on the buttons in the messages of receivers with `app_token`. */
export function createSlackButtons(deps: ButtonsDeps) {
  const { config, context, outbound, random, connected } = deps;
  const { clock, log } = context;
  const ending = new AbortController();
  const acts = createActs(context, { name: "Slack", event: "slack.clicked" });
  const acting = config.alerts.receivers.flatMap((each) => actingOf(each, outbound) ?? []);

  /** Only who clicked sees it: what was done is shown by the message itself. */
  const answer = async ({ name, api, token }: Acting, click: SlackClick, text: string) => {
    const content = { channel: click.channel, user: click.user.id, text: escapeMrkdwn(text) };
    const { result } = await api("chat.postEphemeral", token, content, ending.signal);
    if (result.kind !== "failed") return;
    const fields = { event: "slack.not_answered", receiver: name, reason: result.detail };
    log.warn(fields, `${click.user.id} was not answered in Slack (${result.detail}): ${text}`);
  };

  // Slack sends a click to any one of the connections of an app, so each app has one.
  const ofApps = Map.groupBy(acting, ({ appToken }) => appToken.reveal());
  const sockets = [...ofApps.values()].flatMap((ofApp) => {
    const [first] = ofApp;
    if (!first) return [];
    const onInteraction = async (payload: unknown): Promise<void> => {
      const click = readSlackClick(payload);
      if (!click) return;
      const { receiver, firing } = await findMessage(context, ofApp, click);
      const clicked = receiver ?? first;
      const act = actOf(clicked, click);
      const done = await acts(act, () => handle(context, clicked, click, { act, firing }));
      // After this the click is acknowledged, for which Slack waits three seconds.
      if (!done.isRepeated) void answer(clicked, click, done.text);
    };
    const names = ofApp.map(({ name }) => name);
    const onState = (isConnected: boolean): void =>
      names.forEach((name) => connected.set(name, isConnected));
    onState(false);
    const more = { outbound, clock, random, log, onState, onInteraction };
    return [new SlackSocket({ ...first, receivers: names, ...more })];
  });
  return {
    start(): void {
      for (const socket of sockets) socket.start();
    },
    async stop(): Promise<void> {
      ending.abort();
      await Promise.all(sockets.map((socket) => socket.close()));
    },
  };
}

function actingOf(settings: ReceiverConfig, outbound: Outbound): Acting | null {
  if (settings.type !== "slack_app") return null;
  const { name, url, token, appToken, users } = settings;
  if (!appToken || !users) return null;
  const isEncrypted = url.reveal().startsWith("https:");
  return { name, token, appToken, users, isEncrypted, api: createSlackApi(settings, outbound) };
}

function actOf({ name }: Acting, { id, action, occurredAtMs, user, ...at }: SlackClick) {
  const remoteId = `${at.channel} ${at.ts}`;
  return { receiver: name, eventId: id, remoteId, type: action, occurredAtMs, userId: user.id };
}

/** What fires in the message that was clicked, of the receiver that has it. */
async function findMessage(
  { store, clock }: Needs<"store" | "clock">,
  receivers: readonly Acting[],
  click: SlackClick,
): Promise<{ readonly receiver?: Acting; readonly firing: readonly NotifiedAlert[] }> {
  const stored = { notifiedAlerts: store.notified, messageThreads: store.messageThreads };
  for (const receiver of receivers) {
    const firing = await firingInMessage(receiver.name, click, clock.now().utcMs, stored);
    // What began later is not in the message that was clicked.
    const latestMs = click.occurredAtMs + clockToleranceMs;
    const shown = firing?.filter(({ incident }) => incident.startedAtMs <= latestMs);
    if (shown) return { receiver, firing: shown };
  }
  return { firing: [] };
}

async function handle(
  context: ButtonsContext,
  { users }: Acting,
  { action, user }: SlackClick,
  { act, firing }: { readonly act: ReceiverAct; readonly firing: readonly NotifiedAlert[] },
): Promise<Done> {
  const what = action === "silence" ? "clicked Silence" : "clicked Acknowledge";
  const incidentIds = firing.map(({ incident }) => incident.id);
  const name = users.get(user.id);
  if (name === undefined) return refused(act, "Slack", user, what, incidentIds);
  const author = `${name} (Slack)`;
  if (firing.length === 0) {
    return nothing(
      "sandwatch knows no incident of this message that still fires: nothing was changed.",
      author,
    );
  }
  const text =
    action === "silence"
      ? await silence(context, firing, author)
      : (await acknowledgeAll(context, incidentIds, { author, note: null })).text;
  context.log.info(
    {
      event: "audit",
      user: author,
      role: "operator",
      operation: "receiveSlackClick",
      receiver: act.receiver,
    },
    `${author} (operator): ${what} in a message of ${act.receiver}`,
  );
  return { text, incidentIds, notes: [], by: author };
}

async function silence(
  context: ButtonsContext,
  firing: readonly NotifiedAlert[],
  author: string,
): Promise<string> {
  const startsAtMs = context.clock.now().utcMs;
  const match = silenceOf(firing);
  const period = { startsAtMs, endsAtMs: startsAtMs + silenceMs };
  const wanted = { match, author, reason: "silenced in Slack", ...period };
  try {
    const { endsAtMs } = await addOrProlong(context, wanted, startsAtMs);
    const end = new Date(endsAtMs).toISOString().slice(0, 16).replace("T", " ");
    return `${author} silenced ${matchText(match)} until ${end} UTC.`;
  } catch (error) {
    if (error instanceof RefusedError) return `Nothing was silenced: ${error.message}`;
    throw error;
  }
}

/** Of one incident, its rule and subject. Of several, their rule, regions and keys, and what else all of them have in common. */
function silenceOf(firing: readonly NotifiedAlert[]): SilenceMatch {
  const [first, ...others] = firing;
  if (!first) return {};
  if (others.length === 0) return matchOf(first);
  const facts = firing.map(({ target, incident: { rule: name, severity, subject } }) =>
    silenceFacts({ name, severity }, target, subject),
  );
  return Object.fromEntries(
    commonFields.flatMap((field) => {
      const values = new Set(facts.map((each) => each[field]));
      // Other keys can be those of other people, who did not see the message.
      const isStated = values.size === 1 || field === "region" || field === "key";
      const known = [...values].filter((value) => value !== null);
      return isStated && known.length === values.size ? [[field, known.toSorted()]] : [];
    }),
  );
}

const commonFields = ["rule", "region", "key", "probe", "sandbox_id", "server_name"] as const;
